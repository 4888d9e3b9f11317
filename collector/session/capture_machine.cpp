// SPDX-License-Identifier: Apache-2.0
#include "collector/session/capture_machine.h"

#include "collector/session/api_class.h"

#include <cstring>

namespace gd::session {

namespace {

constexpr std::int32_t kUnmatched = 903; ///< EndCapture on a stream that did not begin the capture
constexpr std::int32_t kUnjoined = 904;
constexpr std::int32_t kWrongThread = 908; ///< EndCapture from another thread than a thread-local capture's

bool isBegin(std::uint16_t api) noexcept {
    return api == GD_API_STREAM_BEGIN_CAPTURE || api == GD_API_STREAM_BEGIN_CAPTURE_TO_GRAPH;
}

/// The call puts something into the stream it names.
bool enqueues(std::uint16_t api) noexcept {
    switch (apiClass(api)) {
    case GD_API_CLASS_LAUNCH:
    case GD_API_CLASS_COPY:
    case GD_API_CLASS_HOST:
    case GD_API_CLASS_REPLAY:
    case GD_API_CLASS_COMM:
        return true;
    default:
        return api == GD_API_MEM_ALLOC_ASYNC || api == GD_API_MEM_ALLOC_FROM_POOL_ASYNC
            || api == GD_API_MEM_FREE_ASYNC || api == GD_API_STREAM_WRITE_VALUE
            || api == GD_API_STREAM_BATCH_MEM_OP;
    }
}

/// The call works on the legacy default stream although it names no stream.
bool impliesLegacyStream(std::uint16_t api) noexcept {
    return apiClass(api) == GD_API_CLASS_COPY_SYNC;
}

} // namespace

CaptureMachine::Capture* CaptureMachine::find(std::uint64_t capture) noexcept {
    for (Capture& open : m_open) {
        if (open.id == capture) {
            return &open;
        }
    }
    return nullptr;
}

std::uint64_t CaptureMachine::captureOf(std::uint64_t stream) noexcept {
    if (m_open.empty()) {
        return 0;
    }
    const StreamState* state = m_streams.find(stream);
    return state != nullptr ? state->capture : 0;
}

std::uint64_t CaptureMachine::nodeCreated(std::uint64_t stream) noexcept {
    StreamState* state = m_open.empty() ? nullptr : m_streams.find(stream);
    Capture* capture = state != nullptr && state->capture != 0 ? find(state->capture) : nullptr;
    if (capture == nullptr) {
        return 0;
    }
    ++capture->nodes;
    if (state->member < kMaxMembers) {
        ++capture->clocks[state->member].of[state->member];
    }
    return capture->id;
}

void CaptureMachine::streamCreated(std::uint64_t stream, std::uint32_t flags) noexcept {
    if (StreamState* state = m_streams.insert(stream); state != nullptr) {
        state->flags = flags;
    }
}

void CaptureMachine::streamDestroyed(std::uint64_t stream) noexcept {
    m_streams.erase(stream);
}

void CaptureMachine::eventDestroyed(std::uint64_t event) noexcept {
    if (EventState* state = m_events.find(event); state != nullptr) {
        dropClock(*state);
        m_events.erase(event);
    }
}

void CaptureMachine::dropClock(EventState& event) noexcept {
    if (event.clock != 0) {
        m_freeClocks.push(event.clock);
        event.clock = 0;
    }
}

void CaptureMachine::forget() noexcept {
    while (!m_open.empty()) {
        close(m_open.size() - 1);
    }
    m_events.clear();
    m_clocks.clear();
    m_freeClocks.clear();
}

void CaptureMachine::finished(const CaptureCall& call) noexcept {
    if (call.api == GD_API_STREAM_END_CAPTURE) {
        end(call);
    } else if (isFailure(call.result)) {
        if (!m_open.empty()) {
            failed(call);
        }
    } else if (call.result != 0) {
        return;
    } else if (isBegin(call.api)) {
        begin(call);
    } else if (call.api == GD_API_EVENT_RECORD || call.api == GD_API_EVENT_RECORD_WITH_FLAGS) {
        eventRecorded(call);
    } else if (!m_open.empty()) {
        if (call.api == GD_API_STREAM_WAIT_EVENT) {
            streamWaited(call);
        } else if (enqueues(call.api)) {
            worked(call);
        }
    }
}

void CaptureMachine::begin(const CaptureCall& call) noexcept {
    StreamState* state = m_streams.insert(call.stream);
    if (state == nullptr) {
        return;
    }
    if (state->capture != 0) {
        // Begin succeeded, so the older capture is over although its end was not seen.
        for (std::size_t i = 0; i < m_open.size(); ++i) {
            if (m_open[i].id == state->capture) {
                close(i);
                break;
            }
        }
        state = m_streams.insert(call.stream);
    }
    Capture* capture = m_open.extend(1);
    if (capture == nullptr || state == nullptr) {
        return;
    }
    std::memset(static_cast<void*>(capture), 0, sizeof *capture);
    capture->id = m_nextCapture++;
    capture->origin = call.stream;
    capture->thread = call.thread;
    capture->mode = static_cast<std::uint16_t>(call.mode);
    capture->device = call.device;
    capture->memberCount = 1;
    capture->members[0] = {call.stream, call.stack, true};
    state->capture = capture->id;
    state->member = 0;

    raw::CaptureBegin record{};
    record.timeNs = call.endNs;
    record.capture = capture->id;
    record.stream = call.stream;
    record.thread = call.thread;
    record.stack = call.stack;
    record.mode = capture->mode;
    record.device = call.device;
    record.streamFlags = state->flags;
    m_records.write(record);
}

void CaptureMachine::eventRecorded(const CaptureCall& call) noexcept {
    EventState* event = m_events.insert(call.event);
    if (event == nullptr) {
        return;
    }
    event->stream = call.stream;
    event->recordNs = call.endNs;
    event->capture = 0;
    const StreamState* stream = m_open.empty() ? nullptr : m_streams.find(call.stream);
    const Capture* capture = stream != nullptr && stream->capture != 0 ? find(stream->capture) : nullptr;
    if (capture == nullptr) {
        dropClock(*event);
        return;
    }
    event->capture = capture->id;
    event->member = stream->member;
    if (stream->member >= kMaxMembers) {
        dropClock(*event);
        return;
    }
    if (event->clock == 0) {
        if (!m_freeClocks.empty()) {
            event->clock = m_freeClocks[m_freeClocks.size() - 1];
            m_freeClocks.pop();
        } else if (m_clocks.extend(1) != nullptr) {
            event->clock = static_cast<std::uint32_t>(m_clocks.size());
        }
    }
    if (event->clock != 0) {
        m_clocks[event->clock - 1] = capture->clocks[stream->member];
    }
}

void CaptureMachine::streamWaited(const CaptureCall& call) noexcept {
    const EventState* event = m_events.find(call.event);
    Capture* capture = event != nullptr && event->capture != 0 ? find(event->capture) : nullptr;
    if (capture == nullptr) {
        return;
    }
    join(*capture, call, *event);
}

void CaptureMachine::join(Capture& capture, const CaptureCall& call, const EventState& event) noexcept {
    StreamState* state = m_streams.insert(call.stream);
    if (state == nullptr) {
        return;
    }
    if (state->capture == 0) {
        const std::uint32_t index = capture.memberCount < kMaxMembers ? capture.memberCount++ : kMaxMembers;
        state->capture = capture.id;
        state->member = index;
        if (index < kMaxMembers) {
            capture.members[index] = {call.stream, call.stack, false};
        }
        raw::CaptureJoin record{};
        record.timeNs = call.endNs;
        record.capture = capture.id;
        record.stream = call.stream;
        record.fromStream = event.stream;
        record.event = call.event;
        record.thread = call.thread;
        record.stack = call.stack;
        m_records.write(record);
    } else if (state->capture != capture.id) {
        return;
    }
    if (event.member < kMaxMembers && state->member != event.member) {
        capture.members[event.member].waitedFor = true;
    }
    if (state->member < kMaxMembers && event.clock != 0) {
        Clock& mine = capture.clocks[state->member];
        const Clock& theirs = m_clocks[event.clock - 1];
        for (unsigned i = 0; i < kMaxMembers; ++i) {
            mine.of[i] = mine.of[i] < theirs.of[i] ? theirs.of[i] : mine.of[i];
        }
    }
}

void CaptureMachine::worked(const CaptureCall& call) noexcept {
    const StreamState* stream = m_streams.find(call.stream);
    Capture* capture = stream != nullptr && stream->capture != 0 && stream->member < kMaxMembers
        ? find(stream->capture)
        : nullptr;
    if (capture != nullptr) {
        ++capture->clocks[stream->member].of[stream->member];
    }
}

std::uint16_t CaptureMachine::relation(
    const Capture& capture, const CaptureCall& call, const EventState* event) noexcept {
    unsigned bits = 0;
    const auto set
        = [&bits](bool holds, raw::CaptureRelation bit) noexcept { bits |= holds ? unsigned{bit} : 0u; };
    set(call.thread == capture.thread, raw::kSameThread);
    set(captureOf(call.stream) == capture.id, raw::kMemberStream);
    set(event != nullptr && event->capture == capture.id, raw::kMemberEvent);
    set(call.stream == raw::kLegacyStream || (call.stream == 0 && impliesLegacyStream(call.api)),
        raw::kLegacyStreamCall);
    set(call.device == capture.device, raw::kSameDevice);
    for (const Capture& open : m_open) {
        set(open.thread == call.thread, raw::kThreadCaptures);
    }
    return static_cast<std::uint16_t>(bits);
}

void CaptureMachine::failed(const CaptureCall& call) noexcept {
    const EventState* event = call.event != 0 ? m_events.find(call.event) : nullptr;
    unsigned written = 0;
    for (std::size_t i = m_open.size(); i-- > 0 && written < kMaxFailedCaptures;) {
        Capture& capture = m_open[i];
        if (capture.failures >= kMaxFailures) {
            continue;
        }
        raw::CaptureFail record{};
        record.startNs = call.startNs;
        record.endNs = call.endNs;
        record.capture = capture.id;
        record.stream = call.stream;
        record.object = call.object;
        record.bytes = call.bytes;
        record.thread = call.thread;
        record.stack = call.stack;
        record.result = static_cast<std::int16_t>(call.result);
        record.api = call.api;
        record.relation = relation(capture, call, event);
        record.ordinal = static_cast<std::uint16_t>(capture.failures++);
        if (event != nullptr) {
            record.eventRecordNs = event->recordNs;
            record.eventStream = event->stream;
            record.otherCapture = event->capture != capture.id ? event->capture : captureOf(call.stream);
            record.otherCapture = record.otherCapture == capture.id ? 0 : record.otherCapture;
        }
        m_records.write(record);
        ++written;
    }
}

void CaptureMachine::findStray(const Capture& capture, raw::CaptureEnd& record) noexcept {
    const Member* never = nullptr;
    for (std::uint32_t i = 1; i < capture.memberCount; ++i) {
        if (capture.clocks[0].of[i] < capture.clocks[i].of[i]) {
            record.strayStream = capture.members[i].stream;
            record.strayStack = capture.members[i].joinStack;
            return;
        }
        never = never == nullptr && !capture.members[i].waitedFor ? &capture.members[i] : never;
    }
    if (never != nullptr) {
        record.strayStream = never->stream;
        record.strayStack = never->joinStack;
    }
}

void CaptureMachine::end(const CaptureCall& call) noexcept {
    std::size_t index = 0;
    while (index < m_open.size() && m_open[index].origin != call.stream) {
        ++index;
    }
    if (index == m_open.size() || call.result == kWrongThread || call.result == kUnmatched) {
        // The capture goes on: the end was asked for in the wrong place.
        if (isFailure(call.result) && !m_open.empty()) {
            failed(call);
        }
        return;
    }
    const Capture& capture = m_open[index];
    raw::CaptureEnd record{};
    record.startNs = call.startNs;
    record.endNs = call.endNs;
    record.capture = capture.id;
    record.graph = call.result == 0 ? call.graph : 0;
    record.thread = call.thread;
    record.stack = call.stack;
    record.result = static_cast<std::int16_t>(call.result);
    record.state = static_cast<std::uint16_t>(
        call.result == 0 ? raw::CaptureState::EndedOk : raw::CaptureState::EndedWithError);
    record.nodes = capture.nodes;
    if (call.result == kUnjoined) {
        findStray(capture, record);
    }
    m_records.write(record);
    close(index);
}

void CaptureMachine::close(std::size_t index) noexcept {
    const std::uint64_t id = m_open[index].id;
    const std::uint32_t members = m_open[index].memberCount;
    if (members < kMaxMembers) {
        for (std::uint32_t i = 0; i < members; ++i) {
            StreamState* state = m_streams.find(m_open[index].members[i].stream);
            if (state != nullptr && state->capture == id) {
                state->capture = 0;
            }
        }
    } else {
        m_streams.forEach([id](std::uint64_t, StreamState& state) {
            state.capture = state.capture == id ? 0 : state.capture;
        });
    }
    m_open[index] = m_open[m_open.size() - 1];
    m_open.pop();
}

} // namespace gd::session
