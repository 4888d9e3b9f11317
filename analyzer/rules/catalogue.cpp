// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_set.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace gd::rules {
namespace {

constexpr std::string_view kIntroduction
    = R"(<!-- Generated from the rule files by `ninja rules_readme`. Do not edit. -->
# Rules

One file is one pitfall: its documentation, its query and the tests that prove it. `graphdoctor rules show ID` prints a
file, `graphdoctor rules test [FILE…]` runs its tests, `graphdoctor rules mutate [FILE…]` shows which changes of it no
test would notice. To add a rule, add one file `<group>/<ID>-<short-name>.sql` and run `ctest --preset dev -L rules`.

## The file

```sql
-- SPDX-License-Identifier: Apache-2.0
-- rule: GD301 replay-gap            ID and short name, as in the file name; ids are never reused
-- title: GPU idles around replays   one line
-- severity: warning                 info | warning | error
-- impact: slow                      none | slow | wrong | job_dies | job_hangs
-- confidence: high                  high | medium | low: the most this rule may claim
-- root: step                        none | capture | exec | comm | step | process_fault: what findings hang on
-- parent: GD300                     optional: the more general rule that this one specialises
-- needs: graph_trace|node_activity>=partial, callbacks>=complete
--                                   what must have been recorded; less is "not evaluated", never "clean"
-- param gap_us: 500                 used as :gap_us; --param gap_us=200 or GD301.gap_us=200 replaces it
-- why: Reason, which may go on
--   in lines that start with two more spaces.
-- fix: What to change.
-- source: Where the facts come from.
-- message: {graph}: idle {gap_us:.1f} us before replay {replay_id}
SELECT …;
-- test: fires at exactly the threshold
INSERT INTO replay_gap (…) VALUES (…);
-- expect: step: idle 500.0 us before replay 2 | cost_ns=500000 severity=warning
-- test: quiet just below it
INSERT INTO replay_gap (…) VALUES (…);
-- expect: none
```

Each test starts in an empty trace in which a NOT NULL column that is not given is 0 or `''` (`known`: 1). One `expect:`
line a finding, in the order of the query: the whole message, then, after ` | `, columns as `name=value`, `name='a text'`
or `name=null`. A rule has at least one test that fires and one that stays quiet.

Messages: `{name}` is a column or parameter. Formats: `{x:.1f}` decimals, `{x:,}` thousands, `{x:.1%}` share of 1,
`{x:ns}` duration from ns, `{x:bytes}` size, `{x:x}` address, `{x:kernel}` a kernel's name made short, `{x:count step}`
"1 step" or "2 steps". NULL prints as "unknown".

## The query

One SELECT; each row is one finding; columns are found by name. SQLite's functions, `percentile(x, p)` with p from 0 to
100, `median(x)`, and `counted(n, 'step')` for "1 step" or "2 steps".

| column | meaning |
| --- | --- |
| `process_id` | required, not NULL |
| `start_ns`, `end_ns` | required; NULL where there is no time |
| `cost_ns`, `cost_bytes` | what it cost; NULL or absent: unknown |
| `step`, `thread_id`, `track_id` | where |
| `stack_id` | call stack that gives the source locations, through `frames.txt` |
| `root_kind`, `root_id` | findings of a process with equal root become one, headed by the first in `precedence.txt`; `root_kind` defaults to `root:`, an absent `root_id` to 0 for step and process_fault; NULL: stands alone |
| `severity` | replaces the rule's |
| `confidence` | lowers the rule's, never raises it |
| `graph_signature` | with the function of the first location: what makes findings of several ranks one |
| `merge_key` | keeps findings of several ranks apart that differ in it |
| `evidence_table`, `evidence_id` | the trace row that proves it |
| `ev1_label`, `ev1_value`, `ev1_unit` … `ev9_…` | figures that prove it; a NULL value is left out; `ev1_table`, `ev1_id` where it is another row |
| anything else | for the message, for `if COLUMN` in `precedence.txt`, for `expect:` |

A row whose `known` is 0 says nothing: leave it out in the query. The outcome counts such rows of
the tables that the query reads, not of those that stand in `NOT EXISTS (…)` only.
)";

std::string escapeCell(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

std::string paramList(const RuleFile& rule) {
    std::string out;
    for (const RuleParam& param : rule.params)
        out += fmt::format("{}`{}` {}", out.empty() ? "" : ", ", param.name, param.text);
    return out;
}

} // namespace

std::string catalogueMarkdown(std::span<const RuleFile> rules) {
    std::map<std::string, std::vector<const RuleFile*>> groups;
    for (const RuleFile& rule : rules)
        groups[rule.group].push_back(&rule);
    std::string out(kIntroduction);
    for (auto& [group, members] : groups) {
        std::sort(members.begin(), members.end(),
            [](const RuleFile* a, const RuleFile* b) { return a->id < b->id; });
        out += fmt::format("\n## {}\n\n| rule | finds | severity | impact | parameters |\n"
                           "| --- | --- | --- | --- | --- |\n",
            group);
        for (const RuleFile* rule : members)
            out += fmt::format("| [{}]({}/{}) | {} | {} | {} | {} |\n", rule->id, group,
                std::filesystem::path(rule->path).filename().string(), escapeCell(rule->title),
                name(rule->severity), name(rule->impact), escapeCell(paramList(*rule)));
    }
    return out;
}

} // namespace gd::rules
