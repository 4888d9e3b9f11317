// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/compare.h"
#include "analyzer/report/compare/words.h"
#include "analyzer/report/escape.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/wrap.h"

#include <map>
#include <set>

namespace gd::report {
namespace {

constexpr std::size_t kComparisonWidth = 100;
constexpr std::size_t kName = 44;
constexpr std::size_t kValue = 12;
constexpr std::size_t kMaxItems = 12; // of a section: JSON has all

std::string rightOf(const std::string& text, std::size_t width) {
    const std::size_t used = columns(text);
    return std::string(used < width ? width - used : 0, ' ') + text;
}

std::string cut(const std::string& text, std::size_t width) {
    std::string clean = plainLine(text);
    if (columns(clean) <= width)
        return clean;
    while (columns(clean) + 1 > width) {
        do
            clean.pop_back();
        while (!clean.empty() && (static_cast<unsigned char>(clean.back()) & 0xc0) == 0x80);
        // The lead byte of the character goes with its rest.
        if (!clean.empty() && static_cast<unsigned char>(clean.back()) >= 0xc0)
            clean.pop_back();
    }
    return clean + "…";
}

class ComparisonPage {
public:
    explicit ComparisonPage(bool color)
        : m_color(color) { }
    void labelled(std::string_view label, const std::string& text) {
        m_out += padded(fmt::format("{}", label), 10);
        appendWrapped(m_out, plainProse(text), 10, 10, kComparisonWidth);
    }
    void title(std::string_view text) { m_out += painted("1", text) + '\n'; }
    void heading(std::string_view text) { m_out += '\n' + painted("1", text) + '\n'; }
    void bullet(const std::string& text) {
        m_out += "  ";
        appendWrapped(m_out, plainProse(text), 2, 4, kComparisonWidth);
    }
    void tableHead(std::string_view title) {
        m_out += '\n'
            + painted("1",
                padded(std::string(title), kName) + rightOf("base", kValue) + rightOf("new", kValue)
                    + "  difference")
            + '\n';
    }
    void item(const std::string& name) { m_out += "  " + cut(name, kComparisonWidth - 2) + '\n'; }
    void row(const std::string& label, const Difference& d) {
        m_out += padded(cut(label, kName), kName)
            + rightOf(d.base ? differenceValue(d, *d.base) : "–", kValue)
            + rightOf(d.fresh ? differenceValue(d, *d.fresh) : "–", kValue) + "  ";
        const std::string text = deltaText(d);
        const std::string word = changeText(d.change);
        m_out += text.empty() ? std::string() : text + "  ";
        m_out += painted(d.change == Change::worse || d.change == Change::onlyNew ? "1;31"
                : d.change == Change::better                                      ? "1;32"
                                                                                  : "",
            word);
        m_out += '\n';
    }
    std::string take() { return std::move(m_out); }

private:
    std::string painted(std::string_view code, std::string_view text) const {
        return m_color && !code.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
    }
    std::string m_out;
    bool m_color;
};

void writeSide(ComparisonPage& page, std::string_view label, const Report& report) {
    const std::string processes = plural(static_cast<std::int64_t>(report.processes.size()), "process");
    page.labelled(label,
        report.level.empty() ? fmt::format("{}: {}, {}", report.tracePath, processes, stepsText(report))
                             : fmt::format("{}: {}, {}, level {}", report.tracePath, processes,
                                 stepsText(report), report.level));
}

// A rank's line says something new only where it fares otherwise than the job.
bool isShown(const Comparison& comparison, const Difference& d) {
    if (!d.rank)
        return true;
    const Difference* job = comparison.find(d.section, d.item, d.metric);
    return job == nullptr || (d.change != Change::unknown && job->change != d.change);
}

void writeSection(ComparisonPage& page, const Comparison& comparison, const std::string& section) {
    std::set<std::string> items;
    std::map<std::string, std::size_t> unknown; // reasons
    bool head = false;
    std::string lastItem;
    for (const Difference& d : comparison.differences) {
        if (d.section != section || !isShown(comparison, d))
            continue;
        if (d.change == Change::unknown) {
            ++unknown[d.reason];
            continue;
        }
        items.insert(d.item);
        if (items.size() > kMaxItems)
            continue;
        if (!head)
            page.tableHead(sectionText(section));
        head = true;
        const std::string metric = d.rank ? fmt::format("{}, rank {}", d.metric, *d.rank) : d.metric;
        if (!d.item.empty() && d.item != lastItem)
            page.item(d.item);
        page.row((d.item.empty() ? "  " : "    ") + metric, d);
        lastItem = d.item;
    }
    if (items.size() > kMaxItems)
        page.bullet(fmt::format("and {} more; --format json has all", items.size() - kMaxItems));
    if (!unknown.empty() && !head)
        page.heading(sectionText(section));
    for (const auto& [reason, count] : unknown)
        page.bullet(
            fmt::format("not compared ({}): {}", plural(static_cast<std::int64_t>(count), "figure"), reason));
}

// How large a difference in the time of a step is not told from none.
void writeNoise(ComparisonPage& page, const Comparison& comparison) {
    const Difference* steps = comparison.find("steps", "", "duration");
    if (steps != nullptr && steps->noise)
        page.bullet(noiseText(*steps));
}

// A column of counts inside that of names.
std::string withCount(const std::string& name, const std::string& count) {
    return padded(name, kName - kValue) + rightOf(count, kValue);
}

void writeFindings(ComparisonPage& page, const Comparison& comparison) {
    constexpr std::pair<Change, std::string_view> kGroups[]
        = {{Change::onlyNew, "Findings of the new trace only"}, {Change::onlyBase, "Findings that are gone"}};
    for (const auto& [change, title] : kGroups) {
        bool head = false;
        for (const Difference& d : comparison.differences) {
            if (d.section != "findings" || d.change != change)
                continue;
            if (!head)
                page.heading(title);
            head = true;
            page.bullet(findingText(d));
        }
    }
    bool head = false;
    for (const Difference& d : comparison.differences) {
        if (d.section != "findings" || d.change == Change::onlyNew || d.change == Change::onlyBase)
            continue;
        if (!head)
            page.tableHead(withCount("Findings of both", "how many"));
        head = true;
        page.item(d.item);
        page.row(withCount("    cost", countsText(d)), d);
    }
}

} // namespace

std::string writeCompareText(const Comparison& comparison, bool color) {
    ComparisonPage page(color);
    page.title("GraphDoctor comparison of two traces");
    writeSide(page, "base", comparison.base);
    writeSide(page, "new", comparison.fresh);
    page.labelled("steps", alignmentText(comparison.alignment));
    page.labelled("step time", stepClockText(comparison.stepClock));
    page.labelled("figures",
        fmt::format(
            "medians over steady state; a difference counts from {:.1f} % on and beyond the spread of the "
            "values",
            comparison.options.thresholdPercent));
    if (!comparison.notes.empty())
        page.heading("What to bear in mind");
    for (const std::string& note : comparison.notes)
        page.bullet(note);
    for (const std::string_view section : comparedSections()) {
        if (section != "findings")
            writeSection(page, comparison, std::string(section));
        if (section == "steps")
            writeNoise(page, comparison);
    }
    writeFindings(page, comparison);
    return page.take();
}

} // namespace gd::report
