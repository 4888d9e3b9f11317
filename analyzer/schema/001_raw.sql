-- SPDX-License-Identifier: Apache-2.0
-- Raw tables of a trace: evidence, written by import, never changed afterwards.
--
-- Conventions. `*_ns` is nanoseconds since the trace's start (meta.start_unix_ns), one clock for host and device; `*_bytes`
-- is bytes. Ids that end in `_id` and are not a primary key alone are unique only together with process_id. NULL means
-- "unknown" or "does not apply", as the column says. Booleans are 0 and 1. Every table that draws on a track is stored in
-- (track, start) order, so that rowid order is drawing order and `track` holds each track's range of rowids.

-- What the trace is, as key and value. Keys: format ('graphdoctor.trace/1'), start_unix_ns, duration_ns,
-- raw_version, facts_version, importer_version, source ('graphdoctor' | 'nsys' | 'kineto'), source_path, command_line,
-- exit_status, exit_signal, host, step_range, level, redacted, clean_shutdown, runtime_seen.
CREATE TABLE meta (
  key TEXT PRIMARY KEY, -- name of the fact
  value TEXT NOT NULL -- its value as text
) STRICT;

-- What is missing, doubtful or broken in this trace; shown on top of every report.
CREATE TABLE trace_issue (
  issue_id INTEGER PRIMARY KEY, -- row number
  process_id INTEGER, -- process concerned, NULL: the trace as a whole
  severity TEXT NOT NULL, -- 'info' | 'data_loss' | 'error'
  code TEXT NOT NULL, -- short stable word, such as no_runtime_seen
  count INTEGER NOT NULL, -- how often, or how many records are concerned
  detail TEXT NOT NULL -- one sentence: file, position, what was expected
) STRICT;

-- What was being looked at, per source and interval: tells "nothing seen" from "not looked".
CREATE TABLE coverage (
  process_id INTEGER NOT NULL, -- process
  source TEXT NOT NULL, -- callbacks, launch_callbacks, node_params, graph_trace, node_activity, eager_kernel_activity, memory, sync, nvtx, nccl_nvtx, nccl_plugin, comm_ops, stacks_native, stacks_python, framework_allocator, ranks
  from_ns INTEGER NOT NULL, -- start of the interval
  to_ns INTEGER NOT NULL, -- end of the interval
  state TEXT NOT NULL, -- 'complete' | 'partial' | 'absent'
  reason TEXT -- why it is not complete, NULL when complete
) STRICT;
CREATE INDEX coverage_by_source ON coverage (source, process_id, from_ns);

-- What was asked to be recorded, from each time on until the process's next row or its end. Rows are in order of time.
CREATE TABLE recording_state (
  process_id INTEGER NOT NULL, -- process
  time_ns INTEGER NOT NULL, -- when it took effect
  level TEXT NOT NULL, -- 'off' (step ranges only) | 'history' (no device activity) | 'light' | 'standard' | 'full'
  window INTEGER NOT NULL -- number of the recording window, 0 before the first
) STRICT;

-- Interned text: kernel names, paths, range names.
CREATE TABLE string (
  string_id INTEGER PRIMARY KEY, -- unique in the trace
  text TEXT NOT NULL -- UTF-8; invalid bytes replaced
) STRICT;

-- One process of the job (or one forked child that used a runtime).
CREATE TABLE process (
  process_id INTEGER PRIMARY KEY, -- unique in the trace, in order of start
  pid INTEGER NOT NULL, -- operating system's number
  parent_pid INTEGER, -- its parent's number
  parent_process_id INTEGER, -- forked child: the process it was forked from
  role TEXT NOT NULL, -- 'primary' | 'forked_child' | 'imported'
  host TEXT, -- host name
  rank INTEGER, -- rank in the job, NULL outside a distributed job
  world_size INTEGER, -- ranks of the job, NULL when unknown
  command_line TEXT, -- arguments, secrets masked
  executable TEXT, -- path of the program
  runtime TEXT, -- 'cuda' or the name a host runtime gave at attach
  start_ns INTEGER NOT NULL, -- first record
  end_ns INTEGER NOT NULL, -- last record's time
  ended TEXT NOT NULL, -- 'closed' (said goodbye) | 'unknown' (killed, _exit, or still running)
  exit_status INTEGER, -- of the process, NULL when unknown
  exit_signal INTEGER, -- signal that ended it, NULL when none or unknown
  exit_reason TEXT, -- why exit_status is NULL, or what is known of the end
  segment_path TEXT -- spool file the process was read from
) STRICT;

-- Named facts about a process that have no column of their own (versions, launcher, job id, ...).
CREATE TABLE process_fact (
  process_id INTEGER NOT NULL, -- process
  key TEXT NOT NULL, -- see collector/raw/records_process.h
  value TEXT NOT NULL -- as recorded
) STRICT;

-- Environment variables of the allow-list.
CREATE TABLE env_var (
  process_id INTEGER NOT NULL, -- process
  name TEXT NOT NULL, -- variable
  value TEXT NOT NULL -- value, secrets masked
) STRICT;

-- Threads in the order in which the collector met them.
CREATE TABLE thread (
  process_id INTEGER NOT NULL, -- process
  thread_id INTEGER NOT NULL, -- numbered from 1 in the process
  tid INTEGER NOT NULL, -- operating system's number
  name TEXT, -- thread name, NULL when unknown
  first_ns INTEGER NOT NULL, -- first record of the thread
  PRIMARY KEY (process_id, thread_id)
) STRICT;

-- Loaded object files.
CREATE TABLE module (
  module_id INTEGER PRIMARY KEY, -- unique in the trace
  process_id INTEGER NOT NULL, -- process
  path TEXT NOT NULL, -- file
  build_id TEXT, -- lower-case hex, NULL when the file has none
  base INTEGER NOT NULL, -- load bias: address in the file = address - base
  from_address INTEGER NOT NULL, -- first executable address (bit pattern of a u64)
  to_address INTEGER NOT NULL, -- one past the last
  first_ns INTEGER NOT NULL -- first seen
) STRICT;

-- Call stacks, interned.
CREATE TABLE stack (
  stack_id INTEGER PRIMARY KEY, -- unique in the trace
  process_id INTEGER NOT NULL -- process
) STRICT;

-- Frames of a stack, inlined functions included.
CREATE TABLE stack_frame (
  stack_id INTEGER NOT NULL, -- stack
  language TEXT NOT NULL, -- 'python' | 'native'
  position INTEGER NOT NULL, -- 0 = innermost, counted per language
  function TEXT, -- demangled name, NULL when unknown
  file TEXT, -- source file, NULL when unknown
  line INTEGER, -- line, NULL when unknown
  module TEXT, -- path of the object file, NULL for Python
  address INTEGER, -- return address in the process, NULL for Python
  module_offset INTEGER, -- return address minus the module's load bias, NULL for Python
  inlined INTEGER NOT NULL, -- 1: an inlined call inside the frame below it
  PRIMARY KEY (stack_id, language, position)
) STRICT, WITHOUT ROWID;

-- GPUs, and the worker threads that stand for one in a host runtime.
CREATE TABLE device (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- ordinal in the process
  name TEXT NOT NULL, -- product name
  uuid TEXT, -- NULL when unknown
  memory_bytes INTEGER NOT NULL, -- total memory, 0 = unknown
  compute_capability TEXT, -- such as '9.0', NULL for host devices
  multiprocessors INTEGER, -- NULL for host devices
  workers INTEGER NOT NULL, -- host runtime: threads that stand for the device; 0 = a real device
  wakeup_p99_ns INTEGER, -- host runtime: p99 of an idle worker's wake-up; gaps below 3x say nothing
  PRIMARY KEY (process_id, device_id)
) STRICT;

-- Contexts.
CREATE TABLE context (
  process_id INTEGER NOT NULL, -- process
  context_id INTEGER NOT NULL, -- id
  device_id INTEGER NOT NULL, -- device
  created_ns INTEGER NOT NULL, -- creation, or first sight
  destroyed_ns INTEGER, -- NULL: alive at the end
  PRIMARY KEY (process_id, context_id)
) STRICT;

-- Streams. Id 1 is the legacy default stream.
CREATE TABLE stream (
  process_id INTEGER NOT NULL, -- process
  stream_id INTEGER NOT NULL, -- id
  device_id INTEGER NOT NULL, -- device
  context_id INTEGER, -- context, NULL when unknown
  non_blocking INTEGER, -- 1: does not synchronise with the legacy stream; NULL unknown
  priority INTEGER, -- NULL unknown
  created_ns INTEGER NOT NULL, -- creation, or first sight
  destroyed_ns INTEGER, -- NULL: alive at the end
  created_stack_id INTEGER, -- where it was created
  PRIMARY KEY (process_id, stream_id)
) STRICT;

-- Events (cudaEvent_t).
CREATE TABLE event (
  process_id INTEGER NOT NULL, -- process
  event_id INTEGER NOT NULL, -- id
  device_id INTEGER NOT NULL, -- device
  flags INTEGER NOT NULL, -- CUevent_flags
  created_ns INTEGER NOT NULL, -- creation
  destroyed_ns INTEGER, -- NULL: alive at the end
  PRIMARY KEY (process_id, event_id)
) STRICT;

-- The calls GraphDoctor knows: the same rows in every trace.
CREATE TABLE api (
  api_id INTEGER PRIMARY KEY, -- GD_API_* number
  name TEXT NOT NULL, -- driver function
  runtime_name TEXT, -- runtime function, NULL when there is none
  class TEXT NOT NULL -- OTHER CAPTURE EDGE LAUNCH COPY COPY_SYNC SYNC QUERY ALLOC FREE POOL VMM GRAPH EXEC REPLAY STREAM EVENT CONTEXT MODULE HOST IPC COMM
) STRICT;

-- Names of CUresult numbers that occur in captures, for messages.
CREATE TABLE result_code (
  result INTEGER PRIMARY KEY, -- CUresult number
  name TEXT NOT NULL, -- such as CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
  runtime_name TEXT NOT NULL -- such as cudaErrorStreamCaptureUnsupported
) STRICT;

-- Tracks: one lane of a drawing. Each belongs to one table and holds its range of rowids there.
CREATE TABLE track (
  track_id INTEGER PRIMARY KEY, -- unique in the trace
  process_id INTEGER NOT NULL, -- process
  table_name TEXT NOT NULL, -- 'kernel' | 'memcpy' | 'memset' | 'replay' | 'sync' | 'api_call' | 'nvtx_range' | 'counter'
  device_id INTEGER, -- device tracks
  stream_id INTEGER, -- stream tracks
  thread_id INTEGER, -- thread tracks
  name TEXT NOT NULL, -- for people
  first_rowid INTEGER, -- NULL when empty
  last_rowid INTEGER, -- NULL when empty
  row_count INTEGER NOT NULL -- rows on the track
) STRICT;

-- API calls that were recorded one by one.
CREATE TABLE api_call (
  api_call_id INTEGER PRIMARY KEY, -- unique in the trace, ordered by (track, start)
  track_id INTEGER NOT NULL, -- thread track
  process_id INTEGER NOT NULL, -- process
  thread_id INTEGER NOT NULL, -- thread
  api_id INTEGER NOT NULL, -- which call
  start_ns INTEGER NOT NULL, -- enter
  end_ns INTEGER, -- exit; NULL: never returned
  result INTEGER, -- CUresult number; NULL: never returned
  correlation INTEGER, -- links to activity, NULL none
  device_id INTEGER, -- device
  stream_id INTEGER, -- stream named, NULL none
  object_id INTEGER, -- exec, graph, event or address, by the call's class; NULL none
  bytes INTEGER, -- bytes, or mode and flags for class CAPTURE; NULL none
  stack_id INTEGER -- NULL: none taken
) STRICT;

-- Stream captures.
CREATE TABLE capture (
  process_id INTEGER NOT NULL, -- process
  capture_id INTEGER NOT NULL, -- numbered per process from 1
  stream_id INTEGER NOT NULL, -- origin stream
  device_id INTEGER NOT NULL, -- device
  mode TEXT NOT NULL, -- 'global' | 'thread_local' | 'relaxed'
  begin_thread_id INTEGER NOT NULL, -- thread that began it
  start_ns INTEGER NOT NULL, -- begin returned
  begin_stack_id INTEGER, -- where it began
  origin_non_blocking INTEGER, -- 1: the origin stream is non-blocking; NULL unknown
  end_start_ns INTEGER, -- enter of the end call, NULL: never ended
  end_ns INTEGER, -- exit of the end call, NULL: never ended
  end_thread_id INTEGER, -- thread that ended it
  end_stack_id INTEGER, -- where
  end_result INTEGER, -- result of the end call
  graph_id INTEGER, -- the graph, NULL on failure
  node_count INTEGER, -- nodes created while capturing
  stray_stream_id INTEGER, -- 904: member stream that was not joined
  stray_stack_id INTEGER, -- where it had joined
  PRIMARY KEY (process_id, capture_id)
) STRICT;

-- Streams that became members of a capture through an event.
CREATE TABLE capture_join (
  process_id INTEGER NOT NULL, -- process
  capture_id INTEGER NOT NULL, -- capture
  stream_id INTEGER NOT NULL, -- stream that joined
  from_stream_id INTEGER NOT NULL, -- where the event had been recorded
  event_id INTEGER NOT NULL, -- event
  time_ns INTEGER NOT NULL, -- when
  thread_id INTEGER NOT NULL, -- thread
  stack_id INTEGER -- where
) STRICT;

-- Calls that failed while a capture was open, on any thread; ordinal 0 is the first.
CREATE TABLE capture_fail (
  process_id INTEGER NOT NULL, -- process
  capture_id INTEGER NOT NULL, -- capture
  ordinal INTEGER NOT NULL, -- 0 = first; later ones are its cascade
  api_id INTEGER NOT NULL, -- which call
  result INTEGER NOT NULL, -- CUresult number
  start_ns INTEGER NOT NULL, -- enter
  end_ns INTEGER NOT NULL, -- exit
  thread_id INTEGER NOT NULL, -- thread
  stack_id INTEGER, -- where
  stream_id INTEGER, -- stream the call names
  object_id INTEGER, -- event, graph, exec or address
  bytes INTEGER, -- bytes of an allocation or copy
  same_thread INTEGER NOT NULL, -- 1: the thread that began the capture
  member_stream INTEGER NOT NULL, -- 1: names a stream of the capture
  member_event INTEGER NOT NULL, -- 1: names an event last recorded inside it
  legacy_stream INTEGER NOT NULL, -- 1: names or implies the legacy default stream
  same_device INTEGER NOT NULL, -- 1: the capture's device
  thread_captures INTEGER NOT NULL, -- 1: the failing thread has a capture of its own open
  other_capture_id INTEGER, -- 902: the capture the event belongs to
  event_record_ns INTEGER, -- last record of the event named, NULL never seen
  event_stream_id INTEGER, -- where it was recorded
  PRIMARY KEY (process_id, capture_id, ordinal)
) STRICT;

-- Exchanges of a thread's capture mode.
CREATE TABLE thread_capture_mode (
  process_id INTEGER NOT NULL, -- process
  thread_id INTEGER NOT NULL, -- thread
  time_ns INTEGER NOT NULL, -- when
  mode TEXT NOT NULL, -- now in force
  previous TEXT NOT NULL -- before
) STRICT;

-- Graphs.
CREATE TABLE graph (
  process_id INTEGER NOT NULL, -- process
  graph_id INTEGER NOT NULL, -- id
  origin TEXT NOT NULL, -- 'create' | 'clone' | 'capture'
  origin_graph_id INTEGER, -- clone: the original
  capture_id INTEGER, -- capture: which
  created_ns INTEGER NOT NULL, -- creation
  destroyed_ns INTEGER, -- NULL: alive at the end
  stack_id INTEGER, -- where
  signature INTEGER, -- hash of node types, kernel names, launch shapes and edges in topological order; NULL unknown
  PRIMARY KEY (process_id, graph_id)
) STRICT;

-- Nodes of graphs and of executables.
CREATE TABLE graph_node (
  process_id INTEGER NOT NULL, -- process
  node_id INTEGER NOT NULL, -- id
  graph_id INTEGER, -- graph, NULL for an executable's node
  exec_id INTEGER, -- executable, NULL for a graph's node
  origin_node_id INTEGER, -- the node it was cloned from (an executable's node: the template's)
  parent_node_id INTEGER, -- child graphs
  capture_id INTEGER, -- the open capture it was created in
  type TEXT NOT NULL, -- kernel memcpy memset host graph empty wait_event event_record mem_alloc mem_free conditional comm other
  stream_id INTEGER, -- the stream whose work became this node
  thread_id INTEGER, -- creating thread
  created_ns INTEGER NOT NULL, -- creation
  destroyed_ns INTEGER, -- NULL: alive at the end
  stack_id INTEGER, -- where
  range_path TEXT, -- enclosing ranges as outer/inner
  shape_id INTEGER, -- kernel: name and launch shape
  name TEXT, -- kernel, host function or collective, demangled
  params_readable INTEGER, -- kernel: 1 read, 0 could not be read; NULL other types
  param_count INTEGER, -- kernel: parameters
  dst INTEGER, -- copy, fill, alloc, free, collective: address
  src INTEGER, -- copy, collective: address
  bytes INTEGER, -- copy, fill, alloc, collective
  copy_kind TEXT, -- HtoD DtoH DtoD HtoH PtoP
  src_memory TEXT, -- kind of the source's allocation, NULL unknown
  dst_memory TEXT, -- kind of the destination's allocation, NULL unknown
  comm_op_id INTEGER, -- collective: nccl_op
  PRIMARY KEY (process_id, node_id)
) STRICT;
CREATE INDEX graph_node_by_graph ON graph_node (process_id, graph_id);
CREATE INDEX graph_node_by_exec ON graph_node (process_id, exec_id);

-- Dependencies between nodes of one graph.
CREATE TABLE graph_edge (
  process_id INTEGER NOT NULL, -- process
  graph_id INTEGER NOT NULL, -- graph
  from_node_id INTEGER NOT NULL, -- runs first
  to_node_id INTEGER NOT NULL -- waits for it
) STRICT;

-- Node parameters that pointed into a live allocation when the node was created.
CREATE TABLE node_pointer (
  process_id INTEGER NOT NULL, -- process
  node_id INTEGER NOT NULL, -- node of a graph
  param INTEGER, -- kernel parameter index; NULL for copies and fills
  role TEXT NOT NULL, -- 'param' | 'dst' | 'src'
  offset INTEGER NOT NULL, -- byte offset inside the parameter
  address INTEGER NOT NULL, -- the pointer
  allocation_id INTEGER NOT NULL -- allocation it pointed into
) STRICT;
CREATE INDEX node_pointer_by_allocation ON node_pointer (process_id, allocation_id);

-- Node parameter words that were no pointers.
CREATE TABLE node_scalar (
  process_id INTEGER NOT NULL, -- process
  node_id INTEGER NOT NULL, -- node of a graph
  param INTEGER NOT NULL, -- parameter index
  offset INTEGER NOT NULL, -- byte offset inside the parameter
  bytes INTEGER NOT NULL, -- 1 to 8
  value INTEGER NOT NULL -- the bytes, zero-extended, as a bit pattern
) STRICT;

-- Executable graphs.
CREATE TABLE graph_exec (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- id
  graph_id INTEGER, -- template, NULL unknown
  flags INTEGER NOT NULL, -- CUgraphInstantiate_flags
  traceable INTEGER NOT NULL, -- 1: graph-level tracing may be on while it is launched
  created_start_ns INTEGER NOT NULL, -- enter of the instantiate call
  created_ns INTEGER NOT NULL, -- exit
  destroyed_ns INTEGER, -- NULL: alive at the end
  thread_id INTEGER, -- instantiating thread
  stack_id INTEGER, -- where
  result INTEGER NOT NULL, -- of the instantiate call
  node_count INTEGER, -- NULL unknown
  PRIMARY KEY (process_id, exec_id)
) STRICT;

-- Updates of executables.
CREATE TABLE exec_update (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  graph_id INTEGER, -- graph the parameters were taken from
  start_ns INTEGER NOT NULL, -- enter
  end_ns INTEGER NOT NULL, -- exit
  thread_id INTEGER, -- thread
  result INTEGER NOT NULL, -- CUresult number
  update_result INTEGER NOT NULL, -- CUgraphExecUpdateResult
  stack_id INTEGER -- where
) STRICT;

-- Launches of executables.
CREATE TABLE replay (
  replay_id INTEGER PRIMARY KEY, -- unique in the trace, ordered by (track, launch)
  track_id INTEGER NOT NULL, -- stream track
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  device_id INTEGER, -- device
  stream_id INTEGER, -- stream it was launched into
  thread_id INTEGER, -- launching thread
  correlation INTEGER, -- of the launch
  launch_start_ns INTEGER NOT NULL, -- enter of the launch call
  launch_end_ns INTEGER, -- exit; NULL: never returned
  result INTEGER, -- of the launch call
  start_ns INTEGER, -- first node starts on the device, NULL: not measured
  end_ns INTEGER, -- last node ends, NULL: not measured
  detail TEXT NOT NULL, -- 'graph' (one device record) | 'node' (from node records) | 'launch_only'
  stack_id INTEGER -- of the launch, where taken
) STRICT;
CREATE INDEX replay_by_exec ON replay (process_id, exec_id, launch_start_ns);

-- Kernel names and launch shapes, interned.
CREATE TABLE kernel_shape (
  shape_id INTEGER PRIMARY KEY, -- unique in the trace
  name_id INTEGER NOT NULL, -- string: demangled name
  grid_x INTEGER NOT NULL, -- blocks in x
  grid_y INTEGER NOT NULL, -- blocks in y
  grid_z INTEGER NOT NULL, -- blocks in z
  block_x INTEGER NOT NULL, -- threads in x
  block_y INTEGER NOT NULL, -- threads in y
  block_z INTEGER NOT NULL, -- threads in z
  static_shared_bytes INTEGER NOT NULL, -- shared memory of the kernel
  dynamic_shared_bytes INTEGER NOT NULL, -- shared memory of the launch
  registers INTEGER NOT NULL -- per thread, 0 unknown
) STRICT;

-- Kernels that ran. Slim on purpose: everything else is one join away (view kernel_full).
CREATE TABLE kernel (
  kernel_id INTEGER PRIMARY KEY, -- unique in the trace, ordered by (track, start)
  track_id INTEGER NOT NULL, -- stream track: process, device, stream
  start_ns INTEGER NOT NULL, -- start on the device
  dur_ns INTEGER NOT NULL, -- duration
  shape_id INTEGER NOT NULL, -- name and launch shape
  correlation INTEGER, -- of the launch or replay, NULL unknown
  node_id INTEGER -- executable's node, NULL eager
) STRICT;

-- Kernels with everything people ask for.
CREATE VIEW kernel_full AS
SELECT k.kernel_id, t.process_id, t.device_id, t.stream_id, k.start_ns,
  k.start_ns + k.dur_ns AS end_ns, k.dur_ns, s.text AS name, k.correlation,
  k.node_id, n.exec_id, ks.grid_x, ks.grid_y, ks.grid_z, ks.block_x,
  ks.block_y, ks.block_z, ks.static_shared_bytes, ks.dynamic_shared_bytes,
  ks.registers
FROM kernel AS k
JOIN track AS t USING (track_id)
JOIN kernel_shape AS ks USING (shape_id)
JOIN string AS s ON s.string_id = ks.name_id
LEFT JOIN graph_node AS n
  ON n.process_id = t.process_id AND n.node_id = k.node_id;

-- Copies that ran.
CREATE TABLE memcpy (
  memcpy_id INTEGER PRIMARY KEY, -- unique in the trace, ordered by (track, start)
  track_id INTEGER NOT NULL, -- stream track
  start_ns INTEGER NOT NULL, -- start on the device
  dur_ns INTEGER NOT NULL, -- duration
  bytes INTEGER NOT NULL, -- bytes moved
  copy_kind TEXT NOT NULL, -- HtoD DtoH DtoD HtoH PtoP other
  src_memory TEXT, -- kind of the source, NULL unknown
  dst_memory TEXT, -- kind of the destination, NULL unknown
  correlation INTEGER, -- of the call or replay
  node_id INTEGER -- executable's node, NULL eager
) STRICT;

-- Fills that ran.
CREATE TABLE memset (
  memset_id INTEGER PRIMARY KEY, -- unique in the trace, ordered by (track, start)
  track_id INTEGER NOT NULL, -- stream track
  start_ns INTEGER NOT NULL, -- start on the device
  dur_ns INTEGER NOT NULL, -- duration
  bytes INTEGER NOT NULL, -- bytes filled
  value INTEGER NOT NULL, -- fill value
  correlation INTEGER, -- of the call or replay
  node_id INTEGER -- executable's node, NULL eager
) STRICT;

-- Synchronisations as the device side reports them.
CREATE TABLE sync (
  sync_id INTEGER PRIMARY KEY, -- unique in the trace, ordered by (track, start)
  track_id INTEGER NOT NULL, -- stream track
  start_ns INTEGER NOT NULL, -- start
  dur_ns INTEGER NOT NULL, -- duration
  api_id INTEGER NOT NULL, -- synchronising call
  event_id INTEGER, -- event waited for
  correlation INTEGER -- of the call
) STRICT;

-- Memory that was allocated.
CREATE TABLE allocation (
  process_id INTEGER NOT NULL, -- process
  allocation_id INTEGER NOT NULL, -- numbered per process from 1
  device_id INTEGER, -- device, NULL host memory
  kind TEXT NOT NULL, -- device device_async host_pinned host_registered managed vmm graph framework host_pageable
  address INTEGER NOT NULL, -- first byte (bit pattern of a u64)
  bytes INTEGER NOT NULL, -- size
  pool_id INTEGER, -- pool, NULL none
  stream_id INTEGER, -- stream-ordered: stream
  thread_id INTEGER, -- allocating thread
  alloc_ns INTEGER NOT NULL, -- call returned
  stack_id INTEGER, -- where
  free_ns INTEGER, -- free was entered, NULL: alive at the end
  free_thread_id INTEGER, -- freeing thread
  free_stack_id INTEGER, -- where it was freed
  PRIMARY KEY (process_id, allocation_id)
) STRICT;

-- Memory pools.
CREATE TABLE memory_pool (
  process_id INTEGER NOT NULL, -- process
  pool_id INTEGER NOT NULL, -- pool
  time_ns INTEGER NOT NULL, -- when
  event TEXT NOT NULL, -- 'created' | 'updated' | 'destroyed'
  device_id INTEGER, -- device
  reserved_bytes INTEGER, -- reserved then, NULL unknown
  used_bytes INTEGER -- used then, NULL unknown
) STRICT;

-- Samples of device memory.
CREATE TABLE memory_sample (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  time_ns INTEGER NOT NULL, -- when
  free_bytes INTEGER NOT NULL, -- free on the device
  total_bytes INTEGER NOT NULL, -- of the device
  graph_reserved_bytes INTEGER -- reserved by graphs, NULL unknown
) STRICT;

-- NVTX and runtime ranges and marks.
CREATE TABLE nvtx_range (
  range_id INTEGER PRIMARY KEY, -- unique in the trace, ordered by (track, start)
  track_id INTEGER NOT NULL, -- thread track
  process_id INTEGER NOT NULL, -- process
  thread_id INTEGER NOT NULL, -- thread that opened it
  start_ns INTEGER NOT NULL, -- push, start or mark
  end_ns INTEGER, -- pop or end; equal to start for a mark; NULL: still open at the end
  name_id INTEGER NOT NULL, -- string
  domain_id INTEGER NOT NULL, -- string, '' = default domain
  kind TEXT NOT NULL, -- 'push' | 'start' | 'mark'
  depth INTEGER NOT NULL, -- nesting of push ranges of its thread and domain, 0 = outermost
  payload INTEGER -- user payload, NULL none
) STRICT;

-- Communicators.
CREATE TABLE nccl_comm (
  process_id INTEGER NOT NULL, -- process
  comm_hash INTEGER NOT NULL, -- equal on all ranks (bit pattern of a u64)
  nranks INTEGER NOT NULL, -- ranks, 0 = never told
  rank INTEGER NOT NULL, -- this process's rank in it
  device_id INTEGER, -- device
  created_ns INTEGER NOT NULL, -- init returned; first use of one whose init did not name it
  created_stack_id INTEGER, -- where
  destroy_start_ns INTEGER, -- destroy, finalize or abort was entered, NULL never
  destroy_end_ns INTEGER, -- it returned, NULL never
  destroy_thread_id INTEGER, -- by which thread
  destroy_stack_id INTEGER -- where
) STRICT;

-- Collective and point-to-point calls.
CREATE TABLE nccl_op (
  process_id INTEGER NOT NULL, -- process
  op_id INTEGER NOT NULL, -- unique in the process
  comm_hash INTEGER NOT NULL, -- communicator
  kind TEXT NOT NULL, -- all_reduce reduce_scatter all_gather broadcast reduce send recv all_to_all
  count INTEGER NOT NULL, -- elements as passed on this rank
  dtype TEXT NOT NULL, -- float32 ...
  message_bytes INTEGER NOT NULL, -- count x type size by the op's own convention
  peer INTEGER, -- root or peer, NULL none
  stream_id INTEGER, -- stream
  thread_id INTEGER NOT NULL, -- thread
  time_ns INTEGER NOT NULL, -- enqueued
  capture_id INTEGER, -- open capture it was captured into, NULL eager
  group_id INTEGER, -- outermost group of the thread, NULL none
  sequence INTEGER, -- communicator's own order, NULL unknown
  source TEXT NOT NULL, -- 'runtime' | 'nccl_plugin' | 'nccl_nvtx'
  stack_id INTEGER, -- where
  PRIMARY KEY (process_id, op_id)
) STRICT;

-- Samples of named counters.
CREATE TABLE counter (
  counter_id INTEGER PRIMARY KEY, -- unique in the trace, ordered by (track, time)
  track_id INTEGER NOT NULL, -- counter track
  time_ns INTEGER NOT NULL, -- when
  value REAL NOT NULL -- value
) STRICT;
