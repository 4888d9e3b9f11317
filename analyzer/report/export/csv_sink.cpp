// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/sinks.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <utility>

namespace gd::report {
namespace {

constexpr std::size_t kCsvPart = 256 * 1024;

// Lines end as RFC 4180 wants them; quotes stand only where they are needed.
void appendCell(std::string& out, std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char c : text) {
        if (c == '"')
            out += '"';
        out += c;
    }
    out += '"';
}

class CsvSink : public EventSink {
public:
    explicit CsvSink(EventOutput output)
        : m_output(std::move(output)) { }

    void head(const EventHead&) override {
        m_text = "kind,process,track,category,name,start_ns,duration_ns,arguments\r\n";
    }
    void process(std::int64_t process, std::string_view name, std::int64_t) override {
        m_processes[process] = name;
    }
    void track(const EventTrack& track, std::string_view name, std::int64_t) override {
        m_tracks[{track.process, track.thread}] = name;
    }
    void slice(const EventSlice& slice) override { line("slice", slice); }
    void instant(const EventSlice& slice) override { line("instant", slice); }
    void overlapping(const EventSlice& slice) override { line("slice", slice); }
    void counter(std::int64_t process, std::string_view name, std::int64_t timeNs,
        std::span<const EventArgument> values) override {
        line("counter", {{process, 0}, timeNs, timeNs, "counter", name, values});
    }
    // What belongs together has the same correlation.
    void arrow(const EventTrack&, std::int64_t, const EventTrack&, std::int64_t) override { }
    void end() override { flush(); }
    const Result<void>& state() const override { return m_state; }

private:
    void line(std::string_view kind, const EventSlice& slice) {
        if (m_text.size() > kCsvPart)
            flush();
        m_text += kind;
        m_text += ',';
        appendCell(m_text, m_processes[slice.track.process]);
        m_text += ',';
        appendCell(m_text, m_tracks[{slice.track.process, slice.track.thread}]);
        m_text += ',';
        appendCell(m_text, slice.category);
        m_text += ',';
        appendCell(m_text, slice.name);
        fmt::format_to(std::back_inserter(m_text), ",{},{},", slice.startNs, slice.durationNs());
        m_arguments.clear();
        for (const EventArgument& argument : slice.arguments) {
            fmt::format_to(
                std::back_inserter(m_arguments), "{}{}=", m_arguments.empty() ? "" : "; ", argument.name);
            std::visit([this](const auto& value) { addValue(value); }, argument.value);
        }
        appendCell(m_text, m_arguments);
        m_text += "\r\n";
    }
    template <class T> void addValue(const T& value) {
        fmt::format_to(std::back_inserter(m_arguments), "{}", value);
    }
    void addValue(const std::array<std::int64_t, 3>& value) {
        fmt::format_to(std::back_inserter(m_arguments), "{}x{}x{}", value[0], value[1], value[2]);
    }
    void flush() {
        if (m_state)
            m_state = m_output(m_text);
        m_text.clear();
    }

    EventOutput m_output;
    Result<void> m_state;
    std::string m_text, m_arguments;
    std::map<std::int64_t, std::string> m_processes;
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> m_tracks;
};

} // namespace

std::unique_ptr<EventSink> makeCsvSink(EventOutput output) {
    return std::make_unique<CsvSink>(std::move(output));
}

} // namespace gd::report
