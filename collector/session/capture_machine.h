// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/records_graph.h"
#include "collector/session/flat_map.h"
#include "collector/session/mapped_array.h"

#include <cstdint>

namespace gd::session {

/// A finished call as the machine sees it.
struct CaptureCall {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::uint64_t stream = 0;
    std::uint64_t event = 0;
    std::uint64_t object = 0; ///< for the record: event, graph, exec or address
    std::uint64_t graph = 0; ///< EndCapture: the graph
    std::uint64_t bytes = 0;
    std::uint32_t mode = 0;
    raw::ThreadRef thread = 0;
    raw::StackRef stack = 0;
    std::int32_t result = 0;
    std::uint16_t api = 0; ///< gd_api_id
    std::uint16_t device = 0;
};

/// Where the machine's records go.
class CaptureRecords {
public:
    virtual void write(raw::CaptureBegin& record) noexcept = 0;
    virtual void write(raw::CaptureJoin& record) noexcept = 0;
    virtual void write(raw::CaptureFail& record) noexcept = 0;
    virtual void write(raw::CaptureEnd& record) noexcept = 0;

protected:
    ~CaptureRecords() = default;
};

/// Follows the captures of a process from finished calls alone: begin, members that join through an event
/// recorded inside and waited for, calls that fail while one is open, end. Work on a member that the origin
/// stream does not wait for is found with one counter a member and stream (a vector clock), so a 904 names
/// the stray stream. Rules of captures: CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture";
/// error numbers: cuda.h. Not synchronised. Calls must arrive in an order that respects each stream and
/// event.
class CaptureMachine {
public:
    explicit CaptureMachine(CaptureRecords& records) noexcept
        : m_records(records) { }

    /// Any finished call that names a stream or event, ended a capture or failed.
    void finished(const CaptureCall& call) noexcept;
    /// A node was created while `stream` was capturing. Returns the capture, 0 = none.
    std::uint64_t nodeCreated(std::uint64_t stream) noexcept;
    std::uint64_t captureOf(std::uint64_t stream) noexcept;
    /// bit 0: non-blocking. Kept for CaptureBegin.
    void streamCreated(std::uint64_t stream, std::uint32_t flags) noexcept;
    void streamDestroyed(std::uint64_t stream) noexcept;
    void eventDestroyed(std::uint64_t event) noexcept;
    std::uint32_t openCount() const noexcept { return static_cast<std::uint32_t>(m_open.size()); }
    /// Forgets open captures without a record: what happened since is unknown (recording was off).
    void forget() noexcept;

    /// 600 (not ready) and 704 (peer access already enabled) fail nothing.
    static bool isFailure(std::int32_t result) noexcept {
        return result != 0 && result != 600 && result != 704;
    }

private:
    static constexpr unsigned kMaxMembers
        = 32; ///< of a capture whose joins are followed; more are members only
    static constexpr unsigned kMaxFailures = 16;
    static constexpr unsigned kMaxFailedCaptures = 8; ///< captures that get a record of one failing call

    /// How many pieces of work of each member precede a point.
    struct Clock {
        std::uint32_t of[kMaxMembers];
    };
    struct Member {
        std::uint64_t stream;
        raw::StackRef joinStack;
        bool waitedFor; ///< another member waited for an event of this one
    };
    struct Capture {
        std::uint64_t id;
        std::uint64_t origin;
        raw::ThreadRef thread;
        std::uint16_t mode;
        std::uint16_t device;
        std::uint32_t failures;
        std::uint32_t nodes;
        std::uint32_t memberCount;
        Member members[kMaxMembers];
        Clock clocks[kMaxMembers];
    };
    struct StreamState {
        std::uint64_t capture; ///< 0 = none
        std::uint32_t member; ///< index, kMaxMembers = beyond
        std::uint32_t flags;
    };
    struct EventState {
        std::uint64_t stream;
        std::uint64_t capture;
        std::int64_t recordNs;
        std::uint32_t member;
        std::uint32_t clock; ///< index into m_clocks + 1, 0 = none
    };

    void begin(const CaptureCall& call) noexcept;
    void end(const CaptureCall& call) noexcept;
    void eventRecorded(const CaptureCall& call) noexcept;
    void streamWaited(const CaptureCall& call) noexcept;
    void join(Capture& capture, const CaptureCall& call, const EventState& event) noexcept;
    void worked(const CaptureCall& call) noexcept;
    void failed(const CaptureCall& call) noexcept;
    std::uint16_t relation(const Capture& capture, const CaptureCall& call, const EventState* event) noexcept;
    void close(std::size_t index) noexcept;
    void findStray(const Capture& capture, raw::CaptureEnd& record) noexcept;
    void dropClock(EventState& event) noexcept;
    Capture* find(std::uint64_t capture) noexcept;

    CaptureRecords& m_records;
    MappedArray<Capture> m_open;
    FlatMap<StreamState> m_streams;
    FlatMap<EventState> m_events;
    MappedArray<Clock> m_clocks;
    MappedArray<std::uint32_t> m_freeClocks;
    std::uint64_t m_nextCapture = 1;
};

} // namespace gd::session
