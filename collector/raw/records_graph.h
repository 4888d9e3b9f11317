// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/records_api.h"

namespace gd::raw {

// All of these go to the history lane. Ids as in contracts: an exec's id differs from its graph's; node ids
// are unique in the process; an exec's node points to its template's node by `origin`.

enum class CaptureMode : std::uint16_t { Global = 0, ThreadLocal = 1, Relaxed = 2 };

/// A stream began to capture (the call succeeded).
struct CaptureBegin {
    static constexpr RecordKind kKind = RecordKind::CaptureBegin;
    RecordHeader header;
    std::int64_t timeNs; ///< exit of the begin call
    std::uint64_t capture; ///< numbered per process from 1
    std::uint64_t stream;
    ThreadRef thread;
    StackRef stack;
    std::uint16_t mode; ///< CaptureMode
    std::uint16_t device;
    std::uint32_t streamFlags; ///< bit 0: the origin stream is non-blocking
};
static_assert(Record<CaptureBegin>);

/// Another stream became a member, by waiting on an event recorded inside the capture.
struct CaptureJoin {
    static constexpr RecordKind kKind = RecordKind::CaptureJoin;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t capture;
    std::uint64_t stream;
    std::uint64_t fromStream; ///< where the event had been recorded
    std::uint64_t event;
    ThreadRef thread;
    StackRef stack;
};
static_assert(Record<CaptureJoin>);

/// Bits of CaptureFail::relation.
enum CaptureRelation : std::uint16_t {
    kSameThread = 1, ///< the thread that began the capture
    kMemberStream = 2, ///< the call names a stream of the capture
    kMemberEvent = 4, ///< the call names an event last recorded inside the capture
    kLegacyStreamCall = 8, ///< the call names or implies the legacy default stream
    kSameDevice = 16,
    kThreadCaptures = 32, ///< the failing thread has a capture of its own open
};

/// A call failed while a capture was open. The first one of a capture has `ordinal` 0; later ones are its
/// cascade (kept up to 16 a capture).
struct CaptureFail {
    static constexpr RecordKind kKind = RecordKind::CaptureFail;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t capture;
    std::uint64_t stream; ///< stream the call names
    std::uint64_t object; ///< event, graph, exec or address
    std::uint64_t bytes;
    ThreadRef thread;
    StackRef stack;
    std::int16_t result; ///< CUresult number
    std::uint16_t api; ///< gd_api_id
    std::uint16_t relation; ///< CaptureRelation bits
    std::uint16_t ordinal;
    std::uint64_t otherCapture; ///< 902: the capture the event belongs to
    std::int64_t eventRecordNs; ///< when the event named by the call was last recorded; 0 = never seen
    std::uint64_t eventStream; ///< where
};
static_assert(Record<CaptureFail>);

enum class CaptureState : std::uint16_t { EndedOk = 1, EndedWithError = 2 };

/// EndCapture returned. A capture without this record was never ended.
struct CaptureEnd {
    static constexpr RecordKind kKind = RecordKind::CaptureEnd;
    RecordHeader header;
    std::int64_t startNs; ///< enter of the end call
    std::int64_t endNs;
    std::uint64_t capture;
    std::uint64_t graph; ///< 0 on failure
    std::uint64_t strayStream; ///< 904: a member stream whose work was not joined; 0 = unknown
    ThreadRef thread;
    StackRef stack;
    std::int16_t result;
    std::uint16_t state; ///< CaptureState
    std::uint32_t nodes; ///< nodes created while capturing
    StackRef strayStack; ///< 904: where the stray stream joined
    std::uint32_t reserved;
};
static_assert(Record<CaptureEnd>);

/// A thread exchanged its capture mode.
struct ThreadCaptureMode {
    static constexpr RecordKind kKind = RecordKind::ThreadCaptureMode;
    RecordHeader header;
    std::int64_t timeNs;
    ThreadRef thread;
    std::uint16_t mode; ///< CaptureMode now in force
    std::uint16_t previous;
};
static_assert(Record<ThreadCaptureMode>);

enum class GraphOrigin : std::uint16_t { Create = 1, Clone = 2, Capture = 3 };

struct Graph {
    static constexpr RecordKind kKind = RecordKind::Graph;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t graph;
    std::uint64_t originGraph; ///< clone: the original
    std::uint64_t capture; ///< origin Capture: which
    std::uint16_t life; ///< Life
    std::uint16_t origin; ///< GraphOrigin
    StackRef stack;
};
static_assert(Record<Graph>);

struct GraphNode {
    static constexpr RecordKind kKind = RecordKind::GraphNode;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t node;
    std::uint64_t graph; ///< graph, or for an executable's node its exec
    std::uint64_t origin; ///< the node this one was cloned from
    std::uint64_t parentNode; ///< child graphs
    std::uint64_t capture; ///< the open capture it was created in
    std::uint32_t stream; ///< the stream whose work became this node
    ThreadRef thread;
    StackRef stack; ///< 0 = none taken
    std::uint16_t life; ///< Life
    std::uint16_t type; ///< gd_rt_node_type = CUgraphNodeType
    std::uint16_t inExec; ///< 1: `graph` is an exec id
    std::uint16_t reserved;
    StringRef rangePath; ///< innermost enclosing range of the creating thread, as "outer/inner"
};
static_assert(Record<GraphNode>);

struct GraphEdge {
    static constexpr RecordKind kKind = RecordKind::GraphEdge;
    RecordHeader header;
    std::uint64_t graph;
    std::uint64_t fromNode;
    std::uint64_t toNode;
};
static_assert(Record<GraphEdge>);

struct GraphExec {
    static constexpr RecordKind kKind = RecordKind::GraphExec;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t exec;
    std::uint64_t graph; ///< template, or for Updated the graph the parameters came from
    ThreadRef thread;
    StackRef stack;
    std::int16_t result;
    std::uint16_t life; ///< Life
    std::uint32_t flags;
    std::uint16_t traceable; ///< 1: GRAPH_TRACE may be on while it is launched
    std::uint16_t updateResult; ///< CUgraphExecUpdateResult
    std::uint32_t nodes;
};
static_assert(Record<GraphExec>);

/// A kernel node's launch.
struct NodeKernel {
    static constexpr RecordKind kKind = RecordKind::NodeKernel;
    RecordHeader header;
    std::uint64_t node;
    ShapeRef shape;
    std::uint32_t paramBytes; ///< 0 with readable = 0: parameters could not be read
    std::uint32_t paramCount;
    std::uint32_t readable;
};
static_assert(Record<NodeKernel>);

/// A parameter word (or a copy's or fill's address) that lay inside a live allocation when the node was
/// created.
struct NodePointer {
    static constexpr RecordKind kKind = RecordKind::NodePointer;
    RecordHeader header;
    std::uint64_t node;
    std::uint64_t address;
    std::uint64_t allocation; ///< Alloc::allocation
    std::uint16_t param; ///< kernel parameter index; 0xfffe = destination, 0xffff = source of a copy or fill
    std::uint16_t offset; ///< byte offset inside the parameter
    std::uint32_t reserved;
};
static_assert(Record<NodePointer>);

/// A parameter word that was no pointer: kept as bytes, to find frozen scalars.
struct NodeScalar {
    static constexpr RecordKind kKind = RecordKind::NodeScalar;
    RecordHeader header;
    std::uint64_t node;
    std::uint64_t value; ///< up to 8 bytes, zero-extended
    std::uint16_t param;
    std::uint16_t offset;
    std::uint16_t bytes;
    std::uint16_t reserved;
};
static_assert(Record<NodeScalar>);

/// A copy, fill, host call, allocation, free or collective node.
struct NodeMemory {
    static constexpr RecordKind kKind = RecordKind::NodeMemory;
    RecordHeader header;
    std::uint64_t node;
    std::uint64_t dst;
    std::uint64_t src; ///< copy and collective: source; host node: function
    std::uint64_t bytes;
    std::uint64_t commOp; ///< collective: CommOp::op
    std::uint16_t type; ///< gd_rt_node_type
    std::uint16_t copyKind; ///< gd_rt_copy_kind
    std::uint16_t srcKind; ///< gd_rt_memory_kind of the source's allocation, 0 = unknown
    std::uint16_t dstKind;
    std::uint32_t value;
    StringRef name; ///< host function's or collective's name
};
static_assert(Record<NodeMemory>);

/// The words that one launch passed by value, interned: equal sets have equal numbers. `count` ScalarWords
/// follow.
struct ScalarSet {
    static constexpr RecordKind kKind = RecordKind::ScalarSet;
    RecordHeader header;
    std::uint32_t id; ///< from 1
    std::uint16_t count;
    std::uint16_t isCut; ///< 1: the launch passed more words than are kept
};
static_assert(Record<ScalarSet>);

struct ScalarWord {
    std::uint64_t value; ///< up to 8 bytes, zero-extended
    std::uint16_t param;
    std::uint16_t offset;
    std::uint16_t bytes;
    std::uint16_t reserved;
};
static_assert(sizeof(ScalarWord) == 16);

/// An eager kernel launch while launches are followed (from the start to the first replay), for frozen
/// scalars.
struct EagerLaunch {
    static constexpr RecordKind kKind = RecordKind::EagerLaunch;
    RecordHeader header;
    std::int64_t timeNs; ///< exit of the call
    std::uint64_t stream;
    ShapeRef shape;
    std::uint32_t scalars; ///< ScalarSet::id; 0 = none, or not readable
    ThreadRef thread;
    StringRef rangePath; ///< as GraphNode::rangePath
};
static_assert(Record<EagerLaunch>);

} // namespace gd::raw
