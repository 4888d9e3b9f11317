// SPDX-License-Identifier: Apache-2.0
// Source of the format: the "Trace Event Format" document of the Chromium project; names as in libkineto's
// output_json.cpp and MetadataFieldCatalog.h.
#include "analyzer/base/text.h"
#include "analyzer/report/export/sinks.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <iterator>

namespace gd::report {
namespace {

constexpr std::size_t kChromePart = 256 * 1024; // bytes that are written at once

class ChromeSink : public EventSink {
public:
    explicit ChromeSink(EventOutput output)
        : m_output(std::move(output)) { }

    void head(const EventHead& head) override {
        add("{{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":{},\n",
            head.startUnixNs);
        m_text += "\"traceName\":";
        appendJsonText(m_text, head.command);
        m_text += ",\n\"deviceProperties\":[";
        for (const EventHead::Device& device : head.devices)
            addDevice(device, &device == head.devices.data());
        m_text += "],\n";
        if (head.rank >= 0 && head.worldSize > 0)
            add("\"distributedInfo\":{{\"rank\":{},\"world_size\":{}}},\n", head.rank, head.worldSize);
        else if (head.rank >= 0)
            add("\"distributedInfo\":{{\"rank\":{}}},\n", head.rank);
        m_text += "\"traceEvents\":[";
    }
    void process(std::int64_t process, std::string_view name, std::int64_t place) override {
        metadata({process, 0}, "process_name", "name", name);
        begin('M');
        add("\"pid\":{},\"tid\":0,\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}}}", process,
            place);
    }
    void track(const EventTrack& track, std::string_view name, std::int64_t place) override {
        metadata(track, "thread_name", "name", name);
        begin('M');
        add("\"pid\":{},\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}}}",
            track.process, track.thread, place);
    }
    void slice(const EventSlice& slice) override {
        begin('X');
        m_text += "\"dur\":";
        addMicroseconds(slice.durationNs());
        m_text += ',';
        addRest(slice);
    }
    void instant(const EventSlice& slice) override {
        begin('i');
        m_text += "\"s\":\"t\",";
        addRest(slice);
    }
    void overlapping(const EventSlice& slice) override {
        const std::int64_t id = ++m_id;
        begin('b');
        add("\"id\":{},", id);
        addRest(slice);
        EventSlice end = slice;
        end.startNs = slice.endNs;
        end.arguments = {};
        begin('e');
        add("\"id\":{},", id);
        addRest(end);
    }
    void counter(std::int64_t process, std::string_view name, std::int64_t timeNs,
        std::span<const EventArgument> values) override {
        begin('C');
        addRest({{process, 0}, timeNs, timeNs, "counter", name, values});
    }
    void arrow(
        const EventTrack& from, std::int64_t fromNs, const EventTrack& to, std::int64_t toNs) override {
        const std::int64_t id = ++m_id;
        begin('s');
        add("\"id\":{},", id);
        addRest({from, fromNs, fromNs, "ac2g", "ac2g", {}});
        begin('f');
        add("\"id\":{},\"bp\":\"e\",", id);
        addRest({to, toNs, toNs, "ac2g", "ac2g", {}});
    }
    void end() override {
        m_text += "\n]}\n";
        flush();
    }
    const Result<void>& state() const override { return m_state; }

private:
    template <class... T> void add(fmt::format_string<T...> format, T&&... values) {
        fmt::format_to(std::back_inserter(m_text), format, std::forward<T>(values)...);
    }

    void addDevice(const EventHead::Device& device, bool isFirst) {
        add("{}{{\"id\":{},\"name\":", isFirst ? "" : ",", device.id);
        appendJsonText(m_text, device.name);
        add(",\"totalGlobalMem\":{},\"numSms\":{}", device.memoryBytes, device.multiprocessors);
        // "9.0": both parts are digits where a real device was seen.
        const std::size_t dot = device.computeCapability.find('.');
        if (dot != std::string::npos)
            add(",\"computeMajor\":{},\"computeMinor\":{}",
                std::strtol(device.computeCapability.c_str(), nullptr, 10),
                std::strtol(device.computeCapability.c_str() + dot + 1, nullptr, 10));
        m_text += '}';
    }

    // Between two events, where the text may leave.
    void begin(char phase) {
        if (m_text.size() > kChromePart)
            flush();
        add("{}{{\"ph\":\"{}\",", m_isFirst ? "\n" : ",\n", phase);
        m_isFirst = false;
    }
    void metadata(
        const EventTrack& track, std::string_view what, std::string_view key, std::string_view text) {
        begin('M');
        add("\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"{}\":", track.process, track.thread, what,
            key);
        appendJsonText(m_text, text);
        m_text += "}}";
    }
    // Where, when, what and the arguments; closes the event.
    void addRest(const EventSlice& slice) {
        add("\"pid\":{},\"tid\":{},\"ts\":", slice.track.process, slice.track.thread);
        addMicroseconds(slice.startNs);
        add(",\"cat\":\"{}\",\"name\":", slice.category);
        appendJsonText(m_text, slice.name);
        if (!slice.arguments.empty()) {
            m_text += ",\"args\":{";
            for (const EventArgument& argument : slice.arguments) {
                if (&argument != slice.arguments.data())
                    m_text += ',';
                appendJsonText(m_text, argument.name);
                m_text += ':';
                std::visit([this](const auto& value) { addValue(value); }, argument.value);
            }
            m_text += '}';
        }
        m_text += '}';
    }
    void addValue(std::int64_t value) { add("{}", value); }
    void addValue(double value) {
        if (std::isfinite(value))
            add("{}", value);
        else
            m_text += "null"; // JSON has no other numbers
    }
    void addValue(std::string_view value) { appendJsonText(m_text, value); }
    void addValue(const std::array<std::int64_t, 3>& value) {
        add("[{},{},{}]", value[0], value[1], value[2]);
    }
    // Microseconds with every nanosecond: a double would lose them after some hours.
    void addMicroseconds(std::int64_t ns) {
        const std::int64_t whole = ns / 1000;
        const std::int64_t rest = std::abs(ns % 1000);
        add("{}{}.{:03}", ns < 0 && whole == 0 ? "-" : "", whole, rest);
    }

    void flush() {
        if (m_state)
            m_state = m_output(m_text);
        m_text.clear();
    }

    EventOutput m_output;
    Result<void> m_state;
    std::string m_text;
    bool m_isFirst = true;
    std::int64_t m_id = 0; // of arrows and overlapping slices
};

} // namespace

void appendJsonText(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const base::CodePoint c = base::decodeUtf8(text);
        const std::size_t length = c.length == 0 ? 1 : c.length;
        if (c.length == 0)
            out += "\\ufffd";
        else if (c.value == '"' || c.value == '\\')
            (out += '\\') += static_cast<char>(c.value);
        else if (c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0))
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c.value));
        else
            out += text.substr(0, length);
        text.remove_prefix(length);
    }
    out += '"';
}

std::unique_ptr<EventSink> makeChromeSink(EventOutput output) {
    return std::make_unique<ChromeSink>(std::move(output));
}

} // namespace gd::report
