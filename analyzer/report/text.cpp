// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/escape.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/short_place.h"
#include "analyzer/report/wrap.h"
#include "analyzer/report/writer.h"
#include "analyzer/rules/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace gd::report {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kLabel = 12; // columns in front of a finding's texts
constexpr std::size_t kMaxFrames = 6;
constexpr std::size_t kMaxEvidence = 8;
constexpr std::size_t kMaxFolded = 8;
constexpr std::size_t kMaxRanks = 8;
constexpr std::int64_t kMaxNotes = 1; // of one kind: a job may have dozens of modules that cannot be read

// Colours repeat what the words say; without them nothing is lost.
class Page {
public:
    explicit Page(bool color)
        : m_color(color) { }

    // A paragraph of text that is not ours, or may hold some.
    void line(std::string_view text, std::size_t indent = 0, std::size_t hang = 0) {
        m_out.append(indent, ' ');
        appendWrapped(m_out, plainProse(text), indent, indent + hang, kWidth);
    }
    void heading(std::string_view text) {
        m_out += '\n';
        paint("1", text);
        m_out += '\n';
    }
    void labelled(std::string_view label, std::string_view text) {
        if (text.empty())
            return;
        m_out += padded(fmt::format("  {}", label), kLabel);
        appendWrapped(m_out, plainProse(text), kLabel, kLabel, kWidth);
    }
    // Never wrapped or cut, so that it can be copied.
    void place(std::string_view label, std::string_view text) {
        m_out += padded(fmt::format("  {}", label), kLabel);
        m_out += plainLine(text);
        m_out += '\n';
    }
    void severity(rules::Severity severity, std::string_view text) {
        std::string wrapped;
        appendWrapped(wrapped, plainProse(text), 0, kLabel, kWidth);
        wrapped.pop_back();
        paint(severity == rules::Severity::error       ? "1;31"
                : severity == rules::Severity::warning ? "1;33"
                                                       : "1;36",
            wrapped);
        m_out += '\n';
    }
    void raw(std::string_view text) { m_out += text; }
    std::string take() { return std::move(m_out); }

private:
    void paint(std::string_view code, std::string_view text) {
        m_out += m_color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
    }

    std::string m_out;
    bool m_color;
};

// Who looks at nothing else reads what to fix and where.
void writeTop(Page& page, const Report& report) {
    page.raw("GraphDoctor report\n");
    if (report.findings.empty() || report.findings.front().severity == rules::Severity::info)
        return;
    const rules::Finding& first = report.findings.front();
    page.labelled("fix first", fmt::format("{} {}", first.rule, first.title));
    if (!first.locations.empty())
        page.place("at", placeText(first.locations.front()));
}

void writeHeader(Page& page, const Report& report) {
    page.place("trace", report.tracePath);
    page.labelled("command", report.commandLine);
    page.labelled("run", runText(report));
    page.labelled("recorded",
        report.level.empty() ? stepsText(report)
                             : fmt::format("level {}; {}", report.level, stepsText(report)));
    page.labelled("shown", filterText(report));
}

void writeIssues(Page& page, const Report& report) {
    if (report.issues.empty())
        return;
    page.heading("What this trace lacks");
    std::map<std::string, std::int64_t> notes; // how many of a code
    for (const Issue& issue : report.issues) {
        if (issue.severity == "info" && ++notes[issue.code] > kMaxNotes)
            continue;
        page.line(issueText(report, issue), 2, 2);
    }
    for (const auto& [code, count] : notes) {
        if (count > kMaxNotes)
            page.line(
                fmt::format("info: and {} more like it ({}; --format json has all)", count - kMaxNotes, code),
                2, 2);
    }
}

std::string rankValues(const VitalSign& sign) {
    std::string out;
    std::size_t count = 0;
    for (const VitalValue& value : sign.values) {
        if (value.processId == 0)
            continue;
        if (++count > kMaxRanks)
            continue;
        out += fmt::format("{}{} {}{}", out.empty() ? "" : " · ",
            value.rank ? fmt::format("rank {}:", *value.rank) : fmt::format("process {}:", value.processId),
            valueText(sign, value), value.verdict == "look" ? " (look)" : "");
    }
    if (count > kMaxRanks)
        out += fmt::format(" · and {} more", count - kMaxRanks);
    return out;
}

const VitalValue* jobValue(const VitalSign& sign) {
    const auto job = std::find_if(
        sign.values.begin(), sign.values.end(), [](const VitalValue& v) { return v.processId == 0; });
    if (job != sign.values.end())
        return &*job;
    return sign.values.empty() ? nullptr : &sign.values.front();
}

bool differs(const VitalSign& sign) {
    std::set<std::string> seen;
    std::size_t processes = 0;
    for (const VitalValue& value : sign.values) {
        if (value.processId != 0) {
            seen.insert(valueText(sign, value));
            ++processes;
        }
    }
    return processes > 1 && seen.size() > 1;
}

bool isMeasured(const VitalSign& sign) {
    return std::any_of(sign.values.begin(), sign.values.end(),
        [](const VitalValue& value) { return value.value || !value.text.empty(); });
}

// The vital signs of one heading, and why what is missing is missing.
struct VitalGroup {
    std::string title;
    std::vector<const VitalSign*> measured;
    std::set<std::string> partial; // why figures are not complete
    std::set<std::string> reasons; // and whatever else was said
};

// In the order of their first figure.
std::vector<VitalGroup> groupsOf(const Report& report) {
    std::vector<VitalGroup> groups;
    for (const VitalSign& sign : report.vitals) {
        const std::string title = vitalGroup(sign.name);
        auto group = std::find_if(
            groups.begin(), groups.end(), [&](const VitalGroup& g) { return g.title == title; });
        if (group == groups.end())
            group = groups.insert(group, VitalGroup{title, {}, {}, {}});
        if (isMeasured(sign))
            group->measured.push_back(&sign);
        for (const VitalValue& value : sign.values) {
            if (value.reason.empty())
                continue;
            group->reasons.insert(value.reason);
            if (value.state != "complete")
                group->partial.insert(value.reason);
        }
    }
    return groups;
}

void writeVital(Page& page, const VitalSign& sign, bool withReason) {
    const VitalValue* job = jobValue(sign);
    if (job == nullptr)
        return;
    std::string line = padded(fmt::format("    {}", plainLine(vitalLabel(sign.name))), 30);
    std::string value = plainLine(valueText(sign, *job));
    if (job->verdict == "look")
        value += "  <- look";
    if (!sign.healthy.empty())
        value = padded(value, 26) + fmt::format("healthy: {}", plainLine(sign.healthy));
    if (withReason && job->state != "complete" && !job->reason.empty())
        value += fmt::format("  ({})", plainProse(job->reason));
    if (columns(line) + columns(value) <= kWidth) {
        page.raw(line + value + "\n");
    } else {
        std::string wrapped;
        appendWrapped(wrapped, plainProse(value), columns(line), 30, kWidth);
        page.raw(line + wrapped);
    }
    if (differs(sign)) {
        std::string wrapped;
        appendWrapped(wrapped, plainProse(rankValues(sign)), 6, 6, kWidth);
        page.raw("      " + wrapped);
    }
}

// What was not measured at all is named by its reason alone; a reason that all share stands in the heading.
void writeGroup(Page& page, const VitalGroup& group) {
    if (group.measured.empty()) {
        std::string text = plainLine(group.title) + ": –";
        for (const std::string& reason : group.reasons)
            text += (reason == *group.reasons.begin() ? " not measured: " : "; ") + reason;
        page.line(text, 2, 2);
        return;
    }
    const bool shared = group.partial.size() == 1;
    page.line(shared ? fmt::format("{} (in part: {})", plainLine(group.title), *group.partial.begin())
                     : plainLine(group.title),
        2, 2);
    for (const VitalSign* sign : group.measured)
        writeVital(page, *sign, !shared);
}

void writeVitals(Page& page, const Report& report) {
    page.heading("Vital signs");
    if (report.vitals.empty()) {
        page.line("not measured: no process of this trace used graphs or a device", 2);
        return;
    }
    for (const VitalGroup& group : groupsOf(report))
        writeGroup(page, group);
}

void writePlaces(Page& page, const rules::Finding& finding) {
    if (finding.locations.empty()) {
        page.labelled("at",
            finding.locationReason.empty() ? "no source line is known"
                                           : fmt::format("unknown: {}", finding.locationReason));
        return;
    }
    const std::size_t shown = std::min(finding.locations.size(), kMaxFrames);
    page.place("at", placeText(finding.locations.front()));
    for (std::size_t i = 1; i < shown; ++i) {
        const rules::Location& caller = finding.locations[i];
        page.raw(padded(caller.inside ? "  inside" : "  from", kLabel)
            + shortPlace(plainLine(placeFile(caller)), caller.file.empty() ? 0 : caller.line,
                plainLine(rules::bareFunctionName(caller.function)), kWidth - kLabel)
            + "\n");
    }
    if (shown < finding.locations.size())
        page.labelled("", fmt::format("and {} more callers", finding.locations.size() - shown));
}

void writeEvidence(Page& page, const rules::Finding& finding) {
    const std::size_t shown = std::min(finding.evidence.size(), kMaxEvidence);
    for (std::size_t i = 0; i < shown; ++i) {
        const rules::Evidence& item = finding.evidence[i];
        const std::string value = valueText(item.value, item.unit);
        const std::string row = rowText(item);
        page.labelled(i == 0 ? "evidence" : "",
            row.empty() ? fmt::format("{}: {}", item.label, value)
                        : fmt::format("{}: {} ({})", item.label, value, row));
    }
    if (shown < finding.evidence.size())
        page.labelled("", fmt::format("and {} more", finding.evidence.size() - shown));
}

// `known`: the reasons and remedies of this rule stand further up already.
void writeFinding(Page& page, const Report& report, const rules::Finding& finding, bool known) {
    page.severity(finding.severity, headline(finding));
    page.line(finding.message, 2);
    writePlaces(page, finding);
    page.labelled("who", whereText(finding));
    page.labelled("when", whenText(finding));
    page.labelled("cost", costText(report, finding));
    writeEvidence(page, finding);
    if (known) {
        page.labelled("fix", fmt::format("as for the first {} above", finding.rule));
    } else {
        page.labelled("why", finding.why);
        page.labelled("fix", finding.fix);
    }
    const std::size_t shown = std::min(finding.folded.size(), kMaxFolded);
    for (std::size_t i = 0; i < shown; ++i) {
        const rules::Finding& folded = finding.folded[i];
        page.labelled(i == 0 ? "also seen" : "", fmt::format("{} {}", folded.rule, folded.message));
    }
    if (shown < finding.folded.size())
        page.labelled("", fmt::format("and {} more with the same cause", finding.folded.size() - shown));
    else if (shown > 0)
        page.labelled("", "(same cause; gone when the first is fixed)");
}

void writeFindings(Page& page, const Report& report) {
    if (report.findings.empty()) {
        page.heading("No findings");
        return;
    }
    page.heading(fmt::format("Findings: {}", countText(report)));
    std::set<std::string> explained;
    for (const rules::Finding& finding : report.findings) {
        page.raw("\n");
        writeFinding(page, report, finding, !explained.insert(finding.rule).second);
    }
}

void writeRules(Page& page, const Report& report) {
    std::int64_t clean = 0;
    std::vector<const rules::RuleOutcome*> unknown;
    for (const rules::RuleOutcome& rule : report.rules) {
        if (rule.outcome == rules::Outcome::clean)
            ++clean;
        if (rule.outcome == rules::Outcome::notEvaluated)
            unknown.push_back(&rule);
    }
    page.heading(fmt::format("Rules: {} looked at, {} clean, {} not evaluated",
        report.rules.size() - unknown.size(), clean, unknown.size()));
    for (const rules::RuleOutcome& rule : report.rules) {
        if (rule.outcome == rules::Outcome::clean && !rule.reason.empty())
            page.labelled(rule.id, fmt::format("clean, but {}", rule.reason));
    }
    // Rules that lack the same thing share a line.
    std::vector<std::pair<std::string, std::string>> reasons; // ids, reason
    for (const rules::RuleOutcome* rule : unknown) {
        const auto same = std::find_if(
            reasons.begin(), reasons.end(), [&](const auto& entry) { return entry.second == rule->reason; });
        if (same != reasons.end())
            same->first += " " + rule->id;
        else
            reasons.emplace_back(rule->id, rule->reason);
    }
    for (const auto& [ids, reason] : reasons) {
        if (ids.find(' ') == std::string::npos)
            page.labelled(ids, fmt::format("not evaluated: {}", reason));
        else
            page.labelled("", fmt::format("{} not evaluated: {}", ids, reason));
    }
}

} // namespace

std::string writeText(const Report& report, const WriteOptions& options) {
    Page page(options.color);
    writeTop(page, report);
    writeHeader(page, report);
    writeIssues(page, report);
    if (!report.runtimeSeen) {
        page.raw("\n");
        page.line(fmt::format("Nothing to report: {}.", kNothingRecorded));
        return page.take();
    }
    writeVitals(page, report);
    writeFindings(page, report);
    writeRules(page, report);
    page.raw("\n");
    page.line(overheadText(report));
    return page.take();
}

} // namespace gd::report
