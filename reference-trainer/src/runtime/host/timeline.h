// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace gdt::runtime::host {

struct StreamState;

/// How far a stream has come: the sequence number of its last finished entry. Outlives the stream.
class Timeline {
public:
    /// `inlineStream` is the stream that a waiter must run itself, empty when a worker runs it.
    explicit Timeline(std::weak_ptr<StreamState> inlineStream)
        : m_inlineStream(std::move(inlineStream)) { }

    [[nodiscard]] std::uint64_t completed() const { return m_completed.load(std::memory_order_acquire); }
    void complete(std::uint64_t sequence);
    void waitFor(std::uint64_t sequence);
    [[nodiscard]] std::shared_ptr<StreamState> inlineStream() const { return m_inlineStream.lock(); }

private:
    std::weak_ptr<StreamState> m_inlineStream;
    std::atomic<std::uint64_t> m_completed{0};
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::uint32_t m_waiters = 0;
};

/// One recording of an event: done when the stream, or the graph node, reaches it.
class Marker {
public:
    explicit Marker(std::shared_ptr<Timeline> timeline)
        : m_timeline(std::move(timeline)) { }

    [[nodiscard]] bool done() const { return m_timeNs.load(std::memory_order_acquire) != 0; }
    void reach(std::int64_t timeNs);
    void wait();
    /// CLOCK_MONOTONIC, 0 until done.
    [[nodiscard]] std::int64_t timeNs() const { return m_timeNs.load(std::memory_order_acquire); }
    /// The entry that will reach the marker.
    [[nodiscard]] const std::shared_ptr<Timeline>& timeline() const { return m_timeline; }
    [[nodiscard]] std::uint64_t sequence() const { return m_sequence.load(std::memory_order_acquire); }
    void setSequence(std::uint64_t sequence) { m_sequence.store(sequence, std::memory_order_release); }

private:
    std::shared_ptr<Timeline> m_timeline;
    std::atomic<std::uint64_t> m_sequence{0};
    std::atomic<std::int64_t> m_timeNs{0};
    std::mutex m_mutex;
    std::condition_variable m_changed;
};

/// CLOCK_MONOTONIC in nanoseconds.
[[nodiscard]] std::int64_t nowNs();

} // namespace gdt::runtime::host
