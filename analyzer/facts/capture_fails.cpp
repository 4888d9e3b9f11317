// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/capture_fails.h"

#include "analyzer/facts/sticky_error.h"

#include <algorithm>
#include <unordered_map>

namespace gd::facts {
namespace {

constexpr std::int64_t kOutOfMemory = 2;
constexpr std::int64_t kNotReady = 600;
constexpr std::int64_t kPeerAccessAlreadyEnabled = 704;
constexpr std::int64_t kIllegalState = 401;
constexpr std::int64_t kUnknown = 999;

bool isCaptureCode(std::int64_t result) {
    return (result >= 900 && result <= 908) || result == kIllegalState;
}

// Not that the device failed: that every call returns, whatever captures are open.
bool isFailure(const CaptureFail& fail) {
    const bool ofDevice = fail.result != kUnknown && isStickyError(static_cast<std::int32_t>(fail.result));
    return !fail.isEnd() && fail.result != kNotReady && fail.result != kPeerAccessAlreadyEnabled && !ofDevice;
}

constexpr std::int64_t kInvalidValue = 1;
constexpr std::int64_t kInvalidHandle = 400;

enum class EventCall { other, record, ask };

EventCall eventCall(std::string_view name) {
    if (name.starts_with("cuEventRecord"))
        return EventCall::record;
    return name == "cuEventQuery" || name == "cuEventSynchronize" || name.starts_with("cuEventElapsedTime")
        ? EventCall::ask
        : EventCall::other;
}

bool capturesStream(const Capture& capture, std::int64_t streamId, std::int64_t timeNs) {
    return timeNs >= capture.startNs && capture.endNs && timeNs <= *capture.endNs
        && (streamId == capture.streamId
            || std::any_of(capture.joins.begin(), capture.joins.end(),
                [&](const CaptureJoin& join) { return join.streamId == streamId && join.timeNs <= timeNs; }));
}

CaptureFail askedAfterwards(const RawData& raw, const ApiCall& call, const ApiCall& record) {
    CaptureFail fail;
    fail.apiId = call.apiId;
    fail.apiClass = raw.apiName(call.apiId) == "cuEventSynchronize" ? "SYNC" : "QUERY";
    fail.known = call.known;
    fail.result = call.result;
    fail.startNs = call.startNs;
    fail.endNs = call.endNs;
    fail.threadId = call.threadId;
    fail.stackId = call.stackId;
    fail.objectId = call.objectId;
    fail.memberEvent = true;
    fail.sameDevice = true;
    fail.eventRecordNs = record.startNs;
    fail.eventStreamId = record.streamId;
    return fail;
}

} // namespace

const CaptureFail* CaptureFails::first() const {
    const auto code = std::find_if(all.begin(), all.end(),
        [](const CaptureFail& fail) { return isFailure(fail) && isCaptureCode(fail.result); });
    if (code != all.end())
        return &*code;
    const auto any = std::find_if(all.begin(), all.end(), isFailure);
    return any == all.end() ? nullptr : &*any;
}

const CaptureFail* CaptureFails::endCall() const {
    const auto found
        = std::find_if(all.rbegin(), all.rend(), [](const CaptureFail& fail) { return fail.isEnd(); });
    return found == all.rend() ? nullptr : &*found;
}

std::int64_t CaptureFails::laterThan(const CaptureFail* fail) const {
    return fail == nullptr ? 0 : std::count_if(all.begin(), all.end(), [&](const CaptureFail& other) {
        return isFailure(other) && &other != fail && other.startNs >= fail->startNs;
    });
}

bool CaptureFails::outOfMemoryBefore(const CaptureFail* fail) const {
    return std::any_of(all.begin(), all.end(), [&](const CaptureFail& other) {
        return other.apiClass == "ALLOC" && other.result == kOutOfMemory
            && (fail == nullptr || other.startNs < fail->startNs);
    });
}

void addEventsAskedAfterwards(const RawData& raw, std::map<CaptureKey, CaptureFails>& fails) {
    struct Asked {
        const ApiCall* call;
        const ApiCall* record = nullptr; // the last one before it
    };
    std::unordered_map<std::int16_t, EventCall> kinds;
    for (const auto& [id, api] : raw.apis) {
        if (const EventCall kind = eventCall(api.name); kind != EventCall::other)
            kinds.emplace(static_cast<std::int16_t>(id), kind);
    }
    const auto kindOf = [&](const ApiCall& call) {
        const auto found = kinds.find(call.apiId);
        return found == kinds.end() ? EventCall::other : found->second;
    };
    std::map<CaptureKey, Asked> earliest;
    for (const ProcessData& process : raw.processes) {
        std::unordered_map<std::int64_t, Asked> byEvent;
        for (const ApiCall& call : process.calls) {
            if ((call.result == kInvalidValue || call.result == kInvalidHandle) && call.objectId != 0
                && !process.captures.empty() && kindOf(call) == EventCall::ask) {
                // Calls come thread by thread.
                Asked& asked = byEvent.try_emplace(call.objectId, Asked{&call}).first->second;
                if (call.startNs < asked.call->startNs)
                    asked.call = &call;
            }
        }
        if (byEvent.empty())
            continue;
        for (const ApiCall& call : process.calls) {
            if (kindOf(call) != EventCall::record || call.result != 0)
                continue;
            const auto asked = byEvent.find(call.objectId);
            if (asked != byEvent.end() && call.startNs < asked->second.call->startNs
                && (asked->second.record == nullptr || asked->second.record->startNs < call.startNs))
                asked->second.record = &call;
        }
        for (const auto& [event, asked] : byEvent) {
            for (const Capture& capture : process.captures) {
                if (asked.record == nullptr || capture.endResult != 0
                    || !capturesStream(capture, asked.record->streamId, asked.record->startNs))
                    continue;
                const auto [first, isNew]
                    = earliest.try_emplace({process.processId, capture.captureId}, asked);
                if (!isNew && asked.call->startNs < first->second.call->startNs)
                    first->second = asked;
            }
        }
    }
    for (const auto& [key, asked] : earliest) {
        CaptureFails& known = fails[key];
        if (known.first() == nullptr)
            known.all.push_back(askedAfterwards(raw, *asked.call, *asked.record));
    }
}

Result<std::map<CaptureKey, CaptureFails>> readCaptureFails(Db& db) {
    GD_TRY_ASSIGN(auto select,
        db.prepare(
            "SELECT f.process_id, f.capture_id, f.api_id, a.class, a.name, f.result, f.start_ns, f.end_ns, "
            "f.thread_id, "
            "f.stack_id, f.stream_id, f.object_id, f.bytes, f.member_stream, f.member_event, "
            "f.legacy_stream, "
            "f.same_device, f.other_capture_id, f.event_record_ns, f.event_stream_id "
            "FROM capture_fail AS f LEFT JOIN api AS a USING (api_id) "
            "ORDER BY f.process_id, f.capture_id, f.ordinal"));
    std::map<CaptureKey, CaptureFails> result;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return result;
        CaptureFail& fail = result[{select.int64(0), select.int64(1)}].all.emplace_back();
        fail.apiId = select.int64(2);
        fail.apiClass = select.text(3);
        fail.known = knownCallFrom(select.text(4));
        fail.result = select.int64(5);
        fail.startNs = select.int64(6);
        fail.endNs = select.int64(7);
        fail.threadId = select.int64(8);
        fail.stackId = select.int64(9);
        fail.streamId = select.int64(10);
        fail.objectId = select.int64(11);
        fail.bytes = select.int64(12);
        fail.memberStream = select.int64(13) != 0;
        fail.memberEvent = select.int64(14) != 0;
        fail.legacyStream = select.int64(15) != 0;
        fail.sameDevice = select.int64(16) != 0;
        fail.otherCaptureId = select.int64(17);
        fail.eventRecordNs = select.optionalInt64(18);
        fail.eventStreamId = select.int64(19);
    }
}

} // namespace gd::facts
