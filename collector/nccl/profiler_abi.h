// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// The binary interface between NCCL and a profiler plugin, versions 4 and 5, as far as this plugin reads it.
/// It is not part of nccl.h. Layouts, numbers and argument order follow NCCL's published headers
/// `src/include/plugin/nccl_profiler.h`, `profiler/profiler_v4.h` and `profiler/profiler_v5.h`
/// (NVIDIA/nccl, 2.28); the assertions below pin them for the x86-64 and AArch64 Linux ABIs.
namespace gd::nccl::abi {

enum EventType : std::uint64_t {
    kGroup = 1U << 0,
    kColl = 1U << 1,
    kP2p = 1U << 2,
    kGroupApi = 1U << 8, ///< v5: ncclGroupStart … ncclGroupEnd, also around a single call
    kCollApi = 1U << 9, ///< v5: one collective call
    kP2pApi = 1U << 10, ///< v5: one ncclSend or ncclRecv call
};

/// Version 5: what an event is about. Only the parts that are read are spelled out.
struct EventV5 {
    std::uint64_t type;
    void* parent; ///< handle of the enclosing event: the group API event of a call
    int rank;
    struct GroupApi {
        bool graphCaptured;
        int groupDepth;
    };
    struct CollApi {
        const char* func;
        std::size_t count;
        const char* datatype;
        int root;
        void* stream;
        bool graphCaptured;
    };
    struct P2pApi {
        const char* func;
        std::size_t count;
        const char* datatype;
        void* stream;
        bool graphCaptured;
    };
    struct Largest { ///< the `coll` member: gives the union its size
        std::uint64_t seqNumber;
        const char* func;
        const void* sendBuff;
        void* recvBuff;
        std::size_t count;
        int root;
        const char* datatype;
        std::uint8_t channels;
        std::uint8_t warps;
        const char* algo;
        const char* proto;
        void* parentGroup;
    };
    union {
        GroupApi groupApi;
        CollApi collApi;
        P2pApi p2pApi;
        Largest coll;
    };
};
static_assert(std::is_trivially_copyable_v<EventV5>);
static_assert(
    offsetof(EventV5, parent) == 8 && offsetof(EventV5, rank) == 16 && offsetof(EventV5, collApi) == 24);
static_assert(offsetof(EventV5::CollApi, count) == 8 && offsetof(EventV5::CollApi, datatype) == 16);
static_assert(offsetof(EventV5::CollApi, stream) == 32 && offsetof(EventV5::CollApi, graphCaptured) == 40);
static_assert(offsetof(EventV5::P2pApi, stream) == 24 && offsetof(EventV5::P2pApi, graphCaptured) == 32);
static_assert(sizeof(EventV5) == 24 + sizeof(EventV5::Largest));

/// Version 4: calls are seen when NCCL plans them, without stream and without a captured flag.
struct EventV4 {
    std::uint8_t type;
    void* parent;
    int rank;
    struct Coll {
        std::uint64_t seqNumber;
        const char* func;
        const void* sendBuff;
        void* recvBuff;
        std::size_t count;
        int root;
        const char* datatype;
        std::uint8_t channels;
        std::uint8_t warps;
        const char* algo;
        const char* proto;
    };
    struct P2p {
        const char* func;
        void* buff;
        const char* datatype;
        std::size_t count;
        int peer;
        std::uint8_t channels;
    };
    union {
        Coll coll;
        P2p p2p;
    };
};
static_assert(std::is_trivially_copyable_v<EventV4>);
static_assert(offsetof(EventV4, parent) == 8 && offsetof(EventV4, coll) == 24);
static_assert(offsetof(EventV4::Coll, count) == 32 && offsetof(EventV4::Coll, datatype) == 48);
static_assert(offsetof(EventV4::P2p, datatype) == 16 && offsetof(EventV4::P2p, peer) == 32);

/// ncclResult_t is an int-sized enum; 0 is success. State changes are never asked for, so their arguments
/// stay opaque.
using Result = int;
using LogFunction
    = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

struct ProfilerV5 {
    const char* name;
    Result (*init)(void** context, std::uint64_t commId, int* activationMask, const char* commName, int nodes,
        int ranks, int rank, LogFunction log);
    Result (*startEvent)(void* context, void** handle, EventV5* event);
    Result (*stopEvent)(void* handle);
    Result (*recordEventState)(void* handle, int state, void* arguments);
    Result (*finalize)(void* context);
};

struct ProfilerV4 {
    const char* name;
    Result (*init)(void** context, int* activationMask, const char* commName, std::uint64_t commHash,
        int nodes, int ranks, int rank, LogFunction log);
    Result (*startEvent)(void* context, void** handle, EventV4* event);
    Result (*stopEvent)(void* handle);
    Result (*recordEventState)(void* handle, int state, void* arguments);
    Result (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV5) == 48 && sizeof(ProfilerV4) == 48);

} // namespace gd::nccl::abi
