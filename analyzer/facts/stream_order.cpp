// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/stream_order.h"

#include <algorithm>
#include <map>

namespace gd::facts {
namespace {

// When each thread captured.
class CapturingThreads {
public:
    explicit CapturingThreads(const ProcessData& process) {
        for (const Capture& capture : process.captures)
            m_spans[capture.beginThreadId].emplace_back(
                capture.startNs, capture.endNs.value_or(process.endNs));
        for (auto& [thread, spans] : m_spans) {
            std::sort(spans.begin(), spans.end());
            for (std::size_t i = 1; i < spans.size(); ++i)
                spans[i].second = std::max(spans[i].second, spans[i - 1].second);
        }
    }

    bool captures(const ApiCall& call) const {
        const auto spans = m_spans.find(call.threadId);
        if (spans == m_spans.end())
            return false;
        const auto after = std::upper_bound(
            spans->second.begin(), spans->second.end(), std::pair(call.startNs, std::int64_t{INT64_MAX}));
        return after != spans->second.begin() && std::prev(after)->second >= call.startNs;
    }

private:
    std::unordered_map<std::int32_t, std::vector<std::pair<std::int64_t, std::int64_t>>> m_spans;
};

std::vector<const ApiCall*> eventCalls(const ProcessData& process) {
    const CapturingThreads capturing(process);
    std::vector<const ApiCall*> calls;
    for (const ApiCall& call : process.calls) {
        const bool orders = call.known == KnownCall::recordEvent || call.known == KnownCall::waitEvent;
        if (orders && call.result == 0 && call.streamId != 0 && !capturing.captures(call))
            calls.push_back(&call);
    }
    std::stable_sort(calls.begin(), calls.end(),
        [](const ApiCall* a, const ApiCall* b) { return a->startNs < b->startNs; });
    return calls;
}

} // namespace

StreamOrder::StreamOrder(const ProcessData& process, const std::vector<const ApiCall*>& copies)
    : m_process(process)
    , m_places(process.replays.size())
    , m_copies(copies.size()) {
    std::unordered_map<std::int64_t, Stream> streams;
    std::unordered_map<std::int64_t, std::shared_ptr<const Ended>>
        events; // what had ended when it was reached
    const std::vector<const ApiCall*> calls = eventCalls(process);
    auto call = calls.begin();
    const auto takeCallsUntil = [&](std::int64_t timeNs) {
        for (; call != calls.end() && (*call)->startNs <= timeNs; ++call) {
            Stream& stream = streams[(*call)->streamId];
            if ((*call)->known == KnownCall::recordEvent)
                events[(*call)->objectId] = withOwn(stream, (*call)->streamId);
            else if (const auto event = events.find((*call)->objectId); event != events.end())
                stream.ended = merged(stream.ended, event->second);
        }
    };
    const auto placeNext = [&](std::int64_t streamId, std::int64_t timeNs) -> Place {
        takeCallsUntil(timeNs);
        Stream& stream = streams[streamId];
        return {stream.ended, streamId, ++stream.launched};
    };
    std::size_t copy = 0;
    const auto takeCopiesUntil = [&](std::int64_t timeNs) {
        for (; copy < copies.size() && copies[copy]->startNs <= timeNs; ++copy) {
            if (copies[copy]->result == 0 && copies[copy]->streamId != 0)
                m_copies[copy] = placeNext(copies[copy]->streamId, copies[copy]->startNs);
        }
    };
    for (std::size_t i = 0; i < process.replays.size(); ++i) {
        const Replay& replay = process.replays[i];
        if (replay.result != 0 || replay.streamId == 0)
            continue;
        takeCopiesUntil(replay.launchStartNs);
        m_places[i] = placeNext(replay.streamId, replay.launchStartNs);
    }
    takeCopiesUntil(INT64_MAX);
}

const StreamOrder::Place& StreamOrder::placeOf(const Replay& replay) const {
    return m_places[static_cast<std::size_t>(&replay - m_process.replays.data())];
}

bool StreamOrder::isBefore(const Replay& first, const Replay& second) const {
    return isBefore(placeOf(first), placeOf(second));
}

bool StreamOrder::isOrdered(const Replay& replay, std::size_t copy) const {
    const Place& one = placeOf(replay);
    return isBefore(one, m_copies[copy]) || isBefore(m_copies[copy], one);
}

bool StreamOrder::isBefore(const Place& first, const Place& second) {
    if (first.streamId == second.streamId)
        return first.number != 0 && first.number < second.number;
    if (first.number == 0 || second.ended == nullptr)
        return false;
    const auto ended = std::lower_bound(
        second.ended->begin(), second.ended->end(), std::pair(first.streamId, std::int64_t{0}));
    return ended != second.ended->end() && ended->first == first.streamId && ended->second >= first.number;
}

std::shared_ptr<const StreamOrder::Ended> StreamOrder::merged(
    const std::shared_ptr<const Ended>& a, const std::shared_ptr<const Ended>& b) {
    if (a == nullptr || b == nullptr || a == b)
        return a == nullptr ? b : a;
    std::map<std::int64_t, std::int64_t> all(a->begin(), a->end());
    for (const auto& [stream, count] : *b)
        all[stream] = std::max(all[stream], count);
    if (std::equal(all.begin(), all.end(), a->begin(), a->end(),
            [](const auto& x, const auto& y) { return x.first == y.first && x.second == y.second; }))
        return a;
    return std::make_shared<const Ended>(all.begin(), all.end());
}

std::shared_ptr<const StreamOrder::Ended> StreamOrder::withOwn(const Stream& stream, std::int64_t streamId) {
    if (stream.launched == 0)
        return stream.ended;
    return merged(stream.ended, std::make_shared<const Ended>(Ended{{streamId, stream.launched}}));
}

} // namespace gd::facts
