// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/report/sample_report.h"

namespace gd::test {

using base::ProcessId;
using base::RankId;
using base::ThreadId;
using rules::Finding;

namespace {

Finding sampleError(const std::string& text) {
    Finding f;
    f.rule = "GD101";
    f.title = text;
    f.severity = rules::Severity::error;
    f.impact = rules::Impact::wrong;
    f.confidence = rules::Confidence::high;
    f.message = text;
    f.processId = ProcessId(1);
    f.rank = RankId(0);
    f.ranks = {RankId(0), RankId(1)};
    f.processes = {ProcessId(1), ProcessId(2)};
    f.step = 7;
    f.startNs = 1'000'000;
    f.endNs = 3'000'000;
    f.costNs = 2'000'000;
    f.costBytes = 4096;
    f.threadId = ThreadId(3);
    f.rootKind = rules::RootKind::capture;
    f.rootId = 1;
    f.graphSignature = "0011223344556677";
    f.locations = {{text, 42, text, text, "c++"}, {"", 0, text, text, ""}};
    f.evidence = {{"api_call", 12, text, rules::Value(text), ""},
        {"", std::nullopt, text, rules::Value(std::int64_t{1500}), "ns"},
        {"", std::nullopt, text, rules::Value(), text}};
    f.why = text;
    f.fix = text;
    f.columns = {{"param", rules::Value(std::int64_t{2})}};
    Finding folded;
    folded.rule = "GD113";
    folded.title = text;
    folded.message = text;
    folded.locationReason = text;
    f.folded = {folded};
    return f;
}

Finding sampleWarning(const std::string& text) {
    Finding f;
    f.rule = "GD301";
    f.title = text;
    f.severity = rules::Severity::warning;
    f.impact = rules::Impact::slow;
    f.confidence = rules::Confidence::medium;
    f.message = text;
    f.processId = ProcessId(2);
    f.locationReason = text;
    return f;
}

} // namespace

report::Report sampleReport(const std::string& text) {
    report::Report r;
    r.toolVersion = "1.2.3";
    r.tracePath = text;
    r.startUnixNs = 1'700'000'000'000'000'000;
    r.durationNs = 2'000'000'000;
    r.source = "graphdoctor";
    r.commandLine = text;
    r.host = text;
    r.level = "standard";
    r.exitStatus = 0;
    r.steps = {"known_range", 20, ""};
    r.filter.rank = 0;
    r.hiddenFindings = 1;
    r.overhead.reason = "recording was never switched off";
    report::ProcessInfo p;
    p.processId = 1;
    p.pid = 100;
    p.rank = 0;
    p.worldSize = 2;
    p.role = "primary";
    p.host = text;
    p.commandLine = text;
    p.runtime = text;
    p.endNs = 2'000'000'000;
    p.ended = "closed";
    p.exitReason = text;
    r.processes.push_back(p);
    p.processId = 2;
    p.pid = 101;
    p.rank = 1;
    r.processes.push_back(p);
    r.vitals = {{"capture.attempts", "count", "", {{0, {}, 2.0, "", "complete", "", "none"}}},
        {"replay_gap.p99_ns", "ns", text,
            {{0, {}, 1234.0, "", "partial", text, "look"}, {1, 0, 1000.0, "", "complete", "", "ok"},
                {2, 1, 1234.0, "", "partial", text, "look"}}},
        {"memory.peak_bytes", "bytes", "", {{0, {}, {}, "", "absent", text, "none"}}},
        {"replay_gap.cause", "text", "", {{0, {}, {}, text, "complete", "", "none"}}}};
    r.findings = {sampleError(text), sampleWarning(text)};
    r.rules = {{"GD101", text, rules::Severity::error, rules::Outcome::fired, "", 1, 1.0, false, {}},
        {"GD113", text, rules::Severity::warning, rules::Outcome::fired, "", 1, {}, false, {}},
        {"GD301", text, rules::Severity::warning, rules::Outcome::fired, text, 1, 0.5, false,
            {{"gap_us", text, "500"}}},
        {"GD402", text, rules::Severity::warning, rules::Outcome::clean, text, 0, {}, false, {}},
        {"GD501", text, rules::Severity::warning, rules::Outcome::notEvaluated, text, 0, {}, false, {}},
        {"GD999", text, rules::Severity::error, rules::Outcome::notEvaluated, text, 0, {}, true, {}}};
    r.issues = {{1, "data_loss", text, 3, text}, {std::nullopt, "info", "note", 1, text}};
    return r;
}

std::vector<std::string> hostileTexts() {
    return {
        "plain words",
        "",
        " ",
        "void kernel<float, 4>(float*, int)::operator()",
        "<script>alert(1)</script><img src=x onerror=y>",
        "a & b \"quoted\" 'single' ]]> <![CDATA[ --> <!-- ?>",
        "\x1b[31mred\x1b]0;title\x07\x1b[2J",
        "\xc2\x9b"
        "31mC1 introducer",
        std::string("nul\0inside", 10),
        "line one\nline two\r\n::error file=x::injected\n\n# heading\n| a | b |\n",
        "::warning::at the start, then ::stop-commands::token",
        "##[error]old style ##vso[task.setvariable]",
        "100% %0A%0D done, a:b,c=d",
        "not utf-8: \xff\xfe\xc3\x28 \xe2\x82 \xf0\x9f",
        "noncharacters \xef\xbf\xbe\xef\xbf\xbf and \xed\xa0\x80 surrogate",
        "right to left \xe2\x80\xae gnirts and \xe2\x81\xa6 isolate \xe2\x80\xa8 separator",
        "`code` ``more`` ```fence``` *bold* _it_ [link](javascript:alert(1)) ![i](x) @someone #12 ~~x~~",
        "| cell | break | \\| backslash \\",
        "C:\\path\\to\\file.cu /usr/../etc/passwd file with spaces.py",
        "wide \xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97 and emoji \xf0\x9f\x94\xa5",
        std::string(500, 'x') + " " + std::string(200, ':'),
        "\ttabs\tand\x7f"
        "del\x08\x08",
    };
}

} // namespace gd::test
