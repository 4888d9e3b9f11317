// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/queue.h"

#include "runtime/host/execute.h"
#include "runtime/host/report_to_tool.h"

#include <cstdio>
#include <pthread.h>

namespace gdt::runtime::host {

namespace {

bool hasWorkers(const StreamState& stream) {
    return stream.device->options.hostWorkers > 0;
}

// A recording belongs to the entry that reaches it; recordings of other streams have their number already.
void numberMarkers(const Operation& operation, std::uint64_t sequence) {
    if (const auto* record = std::get_if<RecordOperation>(&operation)) {
        record->marker->setSequence(sequence);
    } else if (const auto* replay = std::get_if<ReplayOperation>(&operation)) {
        for (const std::shared_ptr<Marker>& marker : replay->markers) {
            if (marker != nullptr && marker->sequence() == 0)
                marker->setSequence(sequence);
        }
    }
}

std::uint64_t push(StreamState& stream, Operation operation, std::uint64_t correlation) {
    Entry entry;
    entry.correlation = correlation;
    if (stream.device->checked())
        collectReferences(*stream.device, operation, entry.references);
    entry.operation = std::move(operation);
    std::uint64_t sequence = 0;
    {
        std::lock_guard lock(stream.mutex);
        sequence = stream.lastSequence.load(std::memory_order_relaxed) + 1;
        entry.sequence = sequence;
        numberMarkers(entry.operation, sequence);
        stream.queue.push_back(std::move(entry));
        stream.lastSequence.store(sequence, std::memory_order_release);
    }
    stream.wake.notify_one();
    return sequence;
}

void workerLoop(StreamState* stream) {
    char name[16];
    std::snprintf(name, sizeof(name), "gdt-stream-%u", static_cast<unsigned>(stream->id & 0xfff));
    pthread_setname_np(pthread_self(), name);
    while (true) {
        Entry entry;
        {
            std::unique_lock lock(stream->mutex);
            stream->wake.wait(lock, [stream] { return stream->stop || !stream->queue.empty(); });
            if (stream->queue.empty())
                return;
            entry = std::move(stream->queue.front());
            stream->queue.pop_front();
        }
        runEntry(*stream, entry);
        stream->timeline->complete(entry.sequence);
    }
}

void runInline(StreamState& stream, std::uint64_t sequence) {
    std::lock_guard running(stream.inlineMutex);
    while (stream.timeline->completed() < sequence) {
        Entry entry;
        {
            std::lock_guard lock(stream.mutex);
            if (stream.queue.empty())
                return;
            entry = std::move(stream.queue.front());
            stream.queue.pop_front();
        }
        runEntry(stream, entry);
        stream.timeline->complete(entry.sequence);
    }
}

// Work of a blocking stream starts after what the legacy stream holds now.
void followLegacy(StreamState& stream) {
    const std::shared_ptr<StreamState> legacy = stream.device->legacyStream.lock();
    if (legacy == nullptr)
        return;
    const std::uint64_t last = legacy->lastSequence.load(std::memory_order_acquire);
    if (last > stream.seenLegacy && legacy->timeline->completed() < last)
        push(stream, WaitPointOperation{legacy->timeline, last}, 0);
    stream.seenLegacy = last;
}

// Work of the legacy stream starts after what every blocking stream holds now.
void followBlocking(StreamState& legacy) {
    for (const std::shared_ptr<StreamState>& stream : legacy.device->liveStreams()) {
        if (stream->legacy || stream->nonBlocking)
            continue;
        const std::uint64_t last = stream->lastSequence.load(std::memory_order_acquire);
        std::uint64_t& seen = legacy.seenBlocking[stream->id];
        if (last > seen && stream->timeline->completed() < last)
            push(legacy, WaitPointOperation{stream->timeline, last}, 0);
        seen = last;
    }
}

void applyLegacyRules(StreamState& stream) {
    if (stream.nonBlocking)
        return;
    std::lock_guard lock(stream.orderMutex);
    if (stream.legacy)
        followBlocking(stream);
    else
        followLegacy(stream);
}

} // namespace

std::shared_ptr<StreamState> makeStream(
    const std::shared_ptr<DeviceState>& device, bool nonBlocking, bool legacy) {
    auto stream = std::make_shared<StreamState>();
    stream->id = legacy ? GD_RT_LEGACY_STREAM : nextObjectId();
    stream->device = device;
    stream->nonBlocking = nonBlocking;
    stream->legacy = legacy;
    const bool workers = hasWorkers(*stream);
    stream->timeline = std::make_shared<Timeline>(workers ? std::weak_ptr<StreamState>() : stream);
    if (workers)
        stream->worker = std::thread(workerLoop, stream.get());
    std::lock_guard lock(device->streamsMutex);
    std::erase_if(device->streams, [](const std::weak_ptr<StreamState>& entry) { return entry.expired(); });
    device->streams.push_back(stream);
    if (legacy)
        device->legacyStream = stream;
    return stream;
}

StreamState::~StreamState() {
    if (worker.joinable()) {
        {
            std::lock_guard lock(mutex);
            stop = true;
        }
        wake.notify_one();
        worker.join();
    } else {
        runInline(*this, lastSequence.load(std::memory_order_relaxed));
    }
}

std::uint64_t enqueue(StreamState& stream, Operation operation, std::uint64_t correlation) {
    applyLegacyRules(stream);
    return push(stream, std::move(operation), correlation);
}

std::shared_ptr<Marker> enqueueMarker(
    StreamState& stream, const std::shared_ptr<EventState>& event, std::uint64_t correlation) {
    applyLegacyRules(stream);
    auto marker = std::make_shared<Marker>(stream.timeline);
    push(stream, RecordOperation{event, marker}, correlation);
    return marker;
}

void enqueueReplay(StreamState& stream, ExecState& exec, ReplayOperation replay, std::uint64_t correlation) {
    applyLegacyRules(stream);
    if (exec.lastTimeline != nullptr && exec.lastTimeline != stream.timeline
        && exec.lastTimeline->completed() < exec.lastSequence)
        push(stream, WaitPointOperation{exec.lastTimeline, exec.lastSequence}, 0);
    exec.lastSequence = push(stream, std::move(replay), correlation);
    exec.lastTimeline = stream.timeline;
}

void waitFor(Timeline& timeline, std::uint64_t sequence) {
    if (timeline.completed() >= sequence)
        return;
    if (const std::shared_ptr<StreamState> stream = timeline.inlineStream())
        runInline(*stream, sequence);
    else
        timeline.waitFor(sequence);
}

void waitForMarker(Marker& marker) {
    if (marker.done())
        return;
    if (const std::shared_ptr<StreamState> stream = marker.timeline()->inlineStream())
        runInline(*stream, marker.sequence());
    else
        marker.wait();
}

bool idle(StreamState& stream) {
    const std::uint64_t last = stream.lastSequence.load(std::memory_order_acquire);
    if (!hasWorkers(stream))
        runInline(stream, last);
    return stream.timeline->completed() >= last;
}

void drain(StreamState& stream) {
    waitFor(*stream.timeline, stream.lastSequence.load(std::memory_order_acquire));
}

void drainDevice(DeviceState& device) {
    for (const std::shared_ptr<StreamState>& stream : device.liveStreams())
        drain(*stream);
}

} // namespace gdt::runtime::host
