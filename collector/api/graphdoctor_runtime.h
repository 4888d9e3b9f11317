/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool interface for runtimes that are not CUDA. C11, no dependency but <dlfcn.h>.
 *
 * A runtime calls gd_rt_attach() once and keeps the returned table. NULL means that nobody listens: test the
 * pointer and go on. The runtime reports what happens; GraphDoctor derives the rest (capture states, first
 * failing calls, which parameter words are pointers, byte sums). Stacks, threads, strings and NVTX are taken
 * by the collector.
 *
 * Rules for callers
 * - Times are nanoseconds of CLOCK_MONOTONIC. Ids are chosen by the runtime, unique in the process for its
 * whole life (handles may be recycled, ids may not), never 0; 0 means "none". An executable's id differs from
 * its graph's id.
 * - Every function may be called from any thread, at any time, also while a capture is active; none of them
 * blocks, allocates device memory, calls back, throws or changes errno. Calls concerning one object are
 * ordered by the caller.
 * - Strings are read before the function returns. Structs start with their size, so that later versions can
 * add fields.
 * - Report created objects after the object exists and before another thread can see it; report `destroyed`
 * before the id can no longer be used.
 */
#ifndef GRAPHDOCTOR_RUNTIME_H
#define GRAPHDOCTOR_RUNTIME_H

#include "collector/api/graphdoctor_api_ids.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GD_RT_VERSION 1u

/* Life of an object. */
typedef enum gd_rt_life {
    GD_RT_CREATED = 1,
    GD_RT_CLONED = 2,
    GD_RT_UPDATED = 3,
    GD_RT_DESTROYED = 4
} gd_rt_life;

/* CUgraphNodeType's numbers; COMM is ours. */
typedef enum gd_rt_node_type {
    GD_RT_NODE_KERNEL = 0,
    GD_RT_NODE_MEMCPY = 1,
    GD_RT_NODE_MEMSET = 2,
    GD_RT_NODE_HOST = 3,
    GD_RT_NODE_GRAPH = 4,
    GD_RT_NODE_EMPTY = 5,
    GD_RT_NODE_WAIT_EVENT = 6,
    GD_RT_NODE_EVENT_RECORD = 7,
    GD_RT_NODE_MEM_ALLOC = 10,
    GD_RT_NODE_MEM_FREE = 11,
    GD_RT_NODE_CONDITIONAL = 13,
    GD_RT_NODE_COMM = 100
} gd_rt_node_type;

typedef enum gd_rt_memory_kind {
    GD_RT_MEMORY_DEVICE = 1, /* blocking device allocation */
    GD_RT_MEMORY_DEVICE_ASYNC = 2, /* stream-ordered, from a pool */
    GD_RT_MEMORY_HOST_PINNED = 3,
    GD_RT_MEMORY_HOST_REGISTERED = 4,
    GD_RT_MEMORY_MANAGED = 5,
    GD_RT_MEMORY_VMM = 6,
    GD_RT_MEMORY_GRAPH = 7, /* belongs to a graph's allocation node */
    GD_RT_MEMORY_FRAMEWORK = 8, /* a block of a framework's caching allocator inside another allocation */
    GD_RT_MEMORY_HOST_PAGEABLE = 9
} gd_rt_memory_kind;

typedef enum gd_rt_activity_kind {
    GD_RT_ACTIVITY_KERNEL = 1,
    GD_RT_ACTIVITY_MEMCPY = 2,
    GD_RT_ACTIVITY_MEMSET = 3,
    GD_RT_ACTIVITY_GRAPH = 4, /* one replay, first node's start to last node's end */
    GD_RT_ACTIVITY_SYNC = 5,
    GD_RT_ACTIVITY_HOST_FUNC = 6,
    GD_RT_ACTIVITY_COMM = 7
} gd_rt_activity_kind;

typedef enum gd_rt_copy_kind {
    GD_RT_COPY_HTOD = 1,
    GD_RT_COPY_DTOH = 2,
    GD_RT_COPY_DTOD = 3,
    GD_RT_COPY_HTOH = 4,
    GD_RT_COPY_PTOP = 5
} gd_rt_copy_kind;

typedef enum gd_rt_comm_kind {
    GD_RT_COMM_ALL_REDUCE = 1,
    GD_RT_COMM_REDUCE_SCATTER = 2,
    GD_RT_COMM_ALL_GATHER = 3,
    GD_RT_COMM_BROADCAST = 4,
    GD_RT_COMM_REDUCE = 5,
    GD_RT_COMM_SEND = 6,
    GD_RT_COMM_RECV = 7,
    GD_RT_COMM_ALL_TO_ALL = 8
} gd_rt_comm_kind;

/* ncclDataType_t's numbers (nccl.h 2.28). */
typedef enum gd_rt_dtype {
    GD_RT_INT8 = 0,
    GD_RT_UINT8 = 1,
    GD_RT_INT32 = 2,
    GD_RT_UINT32 = 3,
    GD_RT_INT64 = 4,
    GD_RT_UINT64 = 5,
    GD_RT_FLOAT16 = 6,
    GD_RT_FLOAT32 = 7,
    GD_RT_FLOAT64 = 8,
    GD_RT_BFLOAT16 = 9,
    GD_RT_FLOAT8_E4M3 = 10,
    GD_RT_FLOAT8_E5M2 = 11
} gd_rt_dtype;

typedef enum gd_rt_range_op {
    GD_RT_RANGE_PUSH = 1,
    GD_RT_RANGE_POP = 2,
    GD_RT_RANGE_MARK = 3,
    GD_RT_RANGE_START = 4, /* u64 is the range's id */
    GD_RT_RANGE_END = 5
} gd_rt_range_op;

/*
 * One API call. The same struct, with the same correlation, is passed at enter and at exit; fields known only
 * afterwards (a created graph, a pointer) are set at exit. Fields that do not apply are 0.
 */
typedef struct gd_rt_api {
    uint32_t size; /* sizeof(gd_rt_api) */
    uint32_t api; /* gd_api_id: the CUDA driver call this call stands for */
    uint64_t correlation; /* unique in the process, links activity to this call; 0 = none */
    uint32_t device;
    uint32_t mode; /* capture mode 0 global, 1 thread-local, 2 relaxed; or the call's flags */
    uint64_t stream; /* stream id; 0 = none, GD_RT_LEGACY_STREAM = the legacy default stream */
    uint64_t event;
    uint64_t graph;
    uint64_t exec;
    uint64_t ptr;
    uint64_t bytes;
} gd_rt_api;
#define GD_RT_LEGACY_STREAM UINT64_C(1)

typedef struct gd_rt_device {
    uint32_t size;
    uint32_t device;
    const char* name;
    uint64_t memory_bytes;
    uint32_t workers; /* threads that stand for the device; 0 = a real device */
    uint32_t reserved;
    uint64_t wakeup_p99_ns; /* p99 of an idle worker's wake-up, measured at start; 0 = unknown */
} gd_rt_device;

typedef struct gd_rt_object { /* stream, event or context */
    uint32_t size;
    uint32_t device;
    uint64_t id;
    uint64_t context;
    uint32_t flags; /* stream: bit 0 = non-blocking; event: CUevent_flags */
    int32_t priority;
} gd_rt_object;

typedef struct gd_rt_graph {
    uint32_t size;
    uint32_t reserved;
    uint64_t graph;
    uint64_t origin_graph; /* the graph this one was cloned from; 0 = none */
} gd_rt_graph;

typedef struct gd_rt_node {
    uint32_t size;
    uint32_t type; /* gd_rt_node_type */
    uint64_t graph; /* the graph, or for an executable's node the executable's id */
    uint64_t node;
    uint64_t origin_node; /* CLONED: the node of the template graph */
    uint64_t parent_node; /* the child-graph node this node's graph hangs below; 0 = none */
    uint64_t stream; /* the stream whose work became this node; 0 = none */
} gd_rt_node;

typedef struct gd_rt_edge {
    uint32_t size;
    uint32_t reserved;
    uint64_t graph;
    uint64_t from_node;
    uint64_t to_node;
} gd_rt_edge;

typedef struct gd_rt_exec {
    uint32_t size;
    uint32_t flags; /* CUgraphInstantiate_flags */
    uint64_t exec;
    uint64_t graph; /* template; UPDATED: the graph the parameters were taken from */
    int32_t result; /* CUresult of the instantiate or update */
    uint32_t update_result; /* CUgraphExecUpdateResult; UPDATED only */
} gd_rt_exec;

typedef struct gd_rt_param { /* one kernel parameter inside the packed buffer */
    uint32_t offset;
    uint32_t bytes;
} gd_rt_param;

/* What a node does. Unused parts are 0. Reported after the node was reported as created. */
typedef struct gd_rt_node_params {
    uint32_t size;
    uint32_t type; /* gd_rt_node_type */
    uint64_t node;
    const char* function; /* kernel or host function name, or the collective's name; may be NULL */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    uint32_t param_count;
    const gd_rt_param* params;
    const void* param_data; /* packed parameter bytes */
    uint64_t param_data_bytes;
    uint64_t dst; /* memcpy, memset, alloc, free, comm (receive buffer) */
    uint64_t src; /* memcpy, comm (send buffer) */
    uint64_t bytes;
    uint32_t value; /* memset */
    uint32_t copy_kind; /* gd_rt_copy_kind */
    uint64_t comm_op; /* comm: the comm_op this node runs */
} gd_rt_node_params;

typedef struct gd_rt_memory {
    uint32_t size;
    uint32_t kind; /* gd_rt_memory_kind */
    uint32_t device;
    uint32_t context; /* ends with this context, without a free; 0 = with none */
    uint64_t ptr;
    uint64_t bytes; /* free: 0 when unknown; VMM: all mappings that begin in the range go */
    uint64_t pool;
    uint64_t stream; /* stream-ordered calls */
} gd_rt_memory;

/* One finished piece of device work. */
typedef struct gd_rt_activity {
    uint32_t size;
    uint32_t kind; /* gd_rt_activity_kind */
    int64_t start_ns;
    int64_t end_ns;
    uint64_t correlation; /* of the call that enqueued or replayed it */
    uint64_t stream;
    uint64_t exec; /* 0 = not part of a replay */
    uint64_t node; /* the executable's node; 0 = none */
    uint32_t device;
    uint32_t copy_kind;
    uint64_t bytes; /* copies, fills, collectives (message bytes) */
    const char* function; /* kernel name; may be NULL for nodes whose parameters were reported */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    uint32_t reserved;
} gd_rt_activity;

typedef struct gd_rt_comm {
    uint32_t size;
    uint32_t nranks;
    uint32_t rank;
    uint32_t device;
    uint64_t hash; /* equal on all ranks of the communicator; never 0 */
} gd_rt_comm;

typedef struct gd_rt_comm_op {
    uint32_t size;
    uint32_t kind; /* gd_rt_comm_kind */
    uint64_t op; /* id of this call, unique in the process */
    uint64_t hash; /* communicator */
    uint64_t count; /* elements, as passed to the call on this rank */
    uint32_t dtype; /* gd_rt_dtype */
    int32_t peer; /* root or peer rank; -1 = none */
    uint64_t stream;
    uint32_t captured; /* 1 = the stream is capturing and the call became a node */
    uint32_t nranks;
    uint64_t seq; /* position in the communicator's order, if the runtime keeps one */
} gd_rt_comm_op;

typedef struct gd_rt_range {
    uint32_t size;
    uint32_t op; /* gd_rt_range_op */
    const char* domain; /* NULL = default */
    const char* name; /* POP, END: may be NULL */
    uint64_t u64; /* payload, or the id of START and END */
} gd_rt_range;

/* What happened to a block of a framework's caching allocator. */
typedef enum gd_rt_block_event {
    GD_RT_BLOCK_LIVE = 1, /* in use from (at the latest) this time on; its allocation was not seen */
    GD_RT_BLOCK_ALLOCATED = 2,
    GD_RT_BLOCK_FREE_REQUESTED = 3, /* its last user let go of it */
    GD_RT_BLOCK_FREE_COMPLETED = 4 /* from now on it may be handed out again */
} gd_rt_block_event;

typedef struct gd_rt_frame {
    const char* file;
    const char* function;
    uint32_t line;
    uint32_t reserved;
} gd_rt_frame;

/* Told afterwards, in order of time for each device. */
typedef struct gd_rt_block {
    uint32_t size;
    uint32_t event; /* gd_rt_block_event */
    int64_t time_ns;
    uint64_t ptr;
    uint64_t bytes;
    uint64_t stream; /* the framework's own handle */
    uint64_t pool; /* 0 = the default pool */
    uint32_t device;
    uint32_t frame_count; /* at most 64 are kept */
    const gd_rt_frame* frames; /* innermost first; may be NULL */
} gd_rt_block;

/* How well a framework's allocator is being followed from now on. */
typedef enum gd_rt_follow {
    GD_RT_FOLLOW_ABSENT = 0,
    GD_RT_FOLLOW_PARTIAL = 1,
    GD_RT_FOLLOW_COMPLETE = 2
} gd_rt_follow;

/* What the recording is doing: a framework's hook decides by it when to look. */
typedef struct gd_rt_status {
    uint32_t size;
    uint32_t level; /* 0 off, 1 history, 2 light, 3 standard, 4 full */
    uint32_t window; /* number of the open recording window; 0 = none was asked for, or it is closed */
    uint32_t open_captures;
    uint32_t open_steps; /* step ranges that some thread is in */
    uint32_t flushes; /* changes whenever everything held back is wanted */
    uint64_t execs; /* executables instantiated so far */
    uint64_t replays; /* launches of executables so far */
} gd_rt_status;

/* The table. Pointers are never NULL. Lives as long as the process. */
typedef struct gd_rt_table {
    uint32_t size;
    uint32_t version;
    void (*api_enter)(const gd_rt_api* call);
    void (*api_exit)(const gd_rt_api* call, int32_t result); /* result: CUresult number */
    void (*device)(const gd_rt_device* device);
    void (*context)(gd_rt_life life, const gd_rt_object* context);
    void (*stream)(gd_rt_life life, const gd_rt_object* stream);
    void (*event)(gd_rt_life life, const gd_rt_object* event);
    void (*graph)(gd_rt_life life, const gd_rt_graph* graph);
    void (*node)(gd_rt_life life, const gd_rt_node* node);
    void (*edge)(gd_rt_life life, const gd_rt_edge* edge);
    void (*exec)(gd_rt_life life, const gd_rt_exec* exec);
    void (*node_params)(const gd_rt_node_params* params);
    void (*alloc)(const gd_rt_memory* memory);
    void (*free)(const gd_rt_memory* memory);
    void (*activity)(const gd_rt_activity* activity);
    void (*comm)(gd_rt_life life, const gd_rt_comm* comm);
    void (*comm_op)(const gd_rt_comm_op* op);
    void (*range)(const gd_rt_range* range);
    /* Bit 0: device activity is wanted; a runtime may skip `activity` (and its clock reads) while it is 0.
     * Bit 1: also the nodes of replays one by one; else a replay is one GRAPH record, and its collectives. */
    uint32_t (*activity_wanted)(void);
    /* For hooks of frameworks. */
    void (*block)(const gd_rt_block* block);
    /* From `from_ns` on (0 = now) its blocks are followed this well; may be said afterwards. */
    void (*block_coverage)(gd_rt_follow state, int64_t from_ns, const char* reason);
    void (*status)(gd_rt_status* status); /* status->size is set by the caller */
    /* 1: another profiler of this process is about to take the device's profiling interface, on this thread;
     * 0: it has given it back. Returns 1 when the collector let go of it (or has it again). */
    uint32_t (*other_profiler)(uint32_t active);
    /* A kernel launch that runs at once, with its parameters (node 0), when it is enqueued; captured ones are
     * told by node_params. Only where `size` covers it: older collectors do not have it. */
    void (*launch)(const gd_rt_node_params* params, uint64_t stream);
} gd_rt_table;

/*
 * Exported by the collector. NULL when the version or the clock cannot be served. `runtime_name` NULL: the
 * caller is no runtime but a hook in a process whose runtime is followed otherwise (CUDA's through CUPTI); it
 * gets the table, and nothing is said about the process.
 */
typedef const gd_rt_table* (*gd_rt_attach_fn)(uint32_t version, const char* runtime_name, clockid_t clock);

/*
 * Loads the library named by GRAPHDOCTOR_TOOL64_PATH and asks it for the table. Call once per process (again
 * in a forked child). NULL: variable unset, library not loadable, or version or clock refused; all of these
 * are normal.
 */
static inline const gd_rt_table* gd_rt_attach(uint32_t version, const char* runtime_name, clockid_t clock) {
    const char* path = getenv("GRAPHDOCTOR_TOOL64_PATH");
    if (path == NULL || path[0] == '\0') {
        return NULL;
    }
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return NULL;
    }
    gd_rt_attach_fn attach = NULL;
    *(void**)(&attach) = dlsym(library, "graphdoctor_runtime_attach");
    return attach != NULL ? attach(version, runtime_name, clock) : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
