// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/rules/rule_file.h"

#include <string>

namespace gd::rules {

constexpr const char* kSamplePath = "rules/performance/GD901-sample-gap.sql";

// A small complete rule over replay_gap whose tests notice every mutant.
inline std::string sampleText() {
    return R"(-- SPDX-License-Identifier: Apache-2.0
-- rule: GD901 sample-gap
-- title: Sample: device idles before a replay
-- severity: warning
-- impact: slow
-- confidence: high
-- root: step
-- needs: graph_trace|node_activity>=partial, callbacks>=complete
-- param gap_us: 500
-- why: The host comes late,
--   or something else does.
-- fix: Launch ahead.
-- source: none, a sample
-- message: {graph_name}: idle {gap_us:.1f} us before replay {replay_id}, mostly {cause}
SELECT process_id, start_ns, end_ns, end_ns - start_ns AS cost_ns, step,
       thread_id, stack_id, 0 AS root_id, replay_id, graph_name, cause,
       (end_ns - start_ns) / 1e3 AS gap_us,
       'replay_gap' AS evidence_table, rowid AS evidence_id,
       'idle' AS ev1_label, end_ns - start_ns AS ev1_value, 'ns' AS ev1_unit,
       'late call' AS ev2_label, cause_detail AS ev2_value
FROM replay_gap -- filled by a fact pass
WHERE known = 1 AND end_ns - start_ns >= :gap_us * 1000;
-- test: fires at exactly the threshold
INSERT INTO replay_gap (process_id, replay_id, start_ns, end_ns, graph_name, cause)
VALUES (1, 2, 1000, 501000, 'step', 'host_other');
-- expect: step: idle 500.0 us before replay 2, mostly host_other | cost_ns=500000 cause='host_other' severity=warning step=null
-- test: quiet just below the threshold
INSERT INTO replay_gap (process_id, start_ns, end_ns) VALUES (1, 1000, 500999);
-- expect: none
-- test: quiet where nothing is known
INSERT INTO replay_gap (process_id, start_ns, end_ns, known)
VALUES (1, 0, 900000, 0), (1, 0, 900000, 2);
-- expect: none
)";
}

inline std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const std::size_t at = text.find(what);
    if (at != std::string::npos)
        text.replace(at, what.size(), with);
    return text;
}

inline RuleFile sampleRule() {
    return std::move(parseRuleFile(sampleText(), kSamplePath)).value();
}

// The sample under another id and query.
inline RuleFile ruleWith(const std::string& id, const std::string& query) {
    RuleFile rule = sampleRule();
    rule.id = id;
    rule.query = query;
    rule.messageTemplate = std::move(MessageTemplate::parse(id + " fired")).value();
    rule.needs.clear();
    rule.params.clear();
    rule.root = RootKind::none;
    return rule;
}

} // namespace gd::rules
