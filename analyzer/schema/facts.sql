-- SPDX-License-Identifier: Apache-2.0
-- Fact tables: derived from the raw tables by analyzer/facts, dropped and rebuilt when meta.facts_version differs. Rules
-- read these (and small raw tables). Conventions as in 001_raw.sql. `known` = 0: the row's answer is not known (data was
-- missing over its interval); such a row is no finding and is counted in the rule's outcome.

-- Training steps (or any other period of the job).
CREATE TABLE step (
  process_id INTEGER NOT NULL, -- process
  step INTEGER NOT NULL, -- numbered per process from 0
  start_ns INTEGER NOT NULL, -- start
  end_ns INTEGER NOT NULL, -- end
  thread_id INTEGER, -- thread whose ranges or launches gave it
  method TEXT NOT NULL, -- 'step_range' | 'known_range' | 'launch_period' | 'optimizer_period'
  kind TEXT NOT NULL, -- 'warmup' | 'steady' | 'excluded' (checkpoint, evaluation or logging) | 'outside' (of the recording windows)
  name TEXT, -- range name, NULL for periods
  replays INTEGER NOT NULL, -- replays launched in it
  captures INTEGER NOT NULL, -- captures begun in it
  PRIMARY KEY (process_id, step)
) STRICT;

-- Steady state per process: what step-based rules look at.
CREATE TABLE steady_state (
  process_id INTEGER PRIMARY KEY, -- process
  start_ns INTEGER NOT NULL, -- start of the first steady step
  end_ns INTEGER NOT NULL, -- end of the last
  steps INTEGER NOT NULL, -- steady steps
  excluded INTEGER NOT NULL, -- steps taken out
  median_step_ns INTEGER NOT NULL -- median duration of steady steps
) STRICT;

-- How each capture ended and what broke it first.
CREATE TABLE capture_outcome (
  process_id INTEGER NOT NULL, -- process
  capture_id INTEGER NOT NULL, -- capture
  graph_id INTEGER, -- its graph, NULL on failure
  device_id INTEGER NOT NULL, -- device
  stream_id INTEGER NOT NULL, -- origin stream
  origin_non_blocking INTEGER, -- 1: origin stream is non-blocking, NULL unknown
  mode TEXT NOT NULL, -- 'global' | 'thread_local' | 'relaxed'
  begin_thread_id INTEGER NOT NULL, -- thread that began it
  begin_thread TEXT, -- its name
  start_ns INTEGER NOT NULL, -- begin
  end_ns INTEGER NOT NULL, -- end; for a capture that was never ended the end of the process
  step INTEGER, -- step it lies in
  state TEXT NOT NULL, -- 'ended_ok' | 'ended_error' | 'not_ended'
  end_result INTEGER, -- result of the end call, NULL never ended
  end_result_name TEXT, -- its CUDA name
  end_thread_id INTEGER, -- thread that ended it, or tried to on the wrong stream or thread
  end_thread TEXT, -- its name
  end_stack_id INTEGER, -- where it was ended
  begin_stack_id INTEGER, -- where it began
  node_count INTEGER, -- nodes captured
  last_node TEXT, -- name or type of the last node captured before the first failure
  range_path TEXT, -- enclosing ranges at begin
  fail_api TEXT, -- first failing call: driver function; of a capture that ended well also the first one that asked for an event recorded inside it; NULL: no call failed before the end call
  fail_runtime_api TEXT, -- its runtime name
  fail_class TEXT, -- api.class
  fail_result INTEGER, -- CUresult number
  fail_result_name TEXT, -- its CUDA name
  fail_start_ns INTEGER, -- enter
  fail_end_ns INTEGER, -- exit
  fail_thread_id INTEGER, -- thread
  fail_thread TEXT, -- its name
  fail_stack_id INTEGER, -- where
  fail_stream_id INTEGER, -- stream the call names
  fail_object_id INTEGER, -- event, graph, exec or address
  fail_bytes INTEGER, -- bytes
  fail_same_thread INTEGER, -- 1: thread that began the capture
  fail_member_stream INTEGER, -- 1: names a member stream
  fail_member_event INTEGER, -- 1: names an event recorded inside
  fail_legacy_stream INTEGER, -- 1: legacy default stream
  fail_same_device INTEGER, -- 1: capture's device
  fail_sub_kind TEXT, -- other threads: pin_memory nccl_watchdog nccl_proxy autograd telemetry user_worker; NULL same thread
  fail_destroyed_by TEXT, -- calls that destroy an object: 'gc' a collector of cycles | 'refcount' the last reference went | 'code' nothing of the kind on the stack; NULL other calls, or no stack
  fail_in_tool INTEGER, -- 1: the innermost frame of ours or the user's lies in an injected library
  fail_other_capture_id INTEGER, -- 902: the other capture
  fail_event_record_ns INTEGER, -- 905, 907: when the event had been recorded
  fail_event_stream_id INTEGER, -- where
  fail_event_before INTEGER, -- 905: 1 = recorded before the capture began
  oom_before INTEGER NOT NULL, -- 1: an allocation returned out-of-memory inside the window before the first failure
  warm_same_site INTEGER, -- allocations: 1 = the same site allocated successfully before the capture; NULL unknown
  later_failures INTEGER NOT NULL, -- failing calls after the first inside the window
  victims_after INTEGER NOT NULL, -- calls with 401, 900, 901, 906 on its thread or streams after the window
  first_victim TEXT, -- name of the first such call
  first_victim_stack_id INTEGER, -- where
  retried_ok INTEGER NOT NULL, -- 1: a later capture on that stream ended well
  stray_stream_id INTEGER, -- 904: member stream that was not joined
  stray_stack_id INTEGER, -- where it had joined
  open_ns INTEGER NOT NULL, -- how long it was open
  left_scope INTEGER, -- not ended: 1 = its thread was seen outside the frames that hold the capture, or began another capture; 0 = the first failing call came from inside them; NULL unknown
  root_capture_id INTEGER NOT NULL, -- first capture of the process that failed in the same way at the same place: attempts that are repeated are one fault; itself when it ended well
  abandoned INTEGER NOT NULL, -- 1: never ended, and the first failing call (if any) names no stream or event of it and does not come from inside its frames: what fails in it is a consequence of leaving it open
  legacy_calls INTEGER NOT NULL, -- kernel launches, copies and fills on the legacy stream of its device inside the window, any thread
  legacy_stack_id INTEGER, -- where the first of them was made
  legacy_thread_id INTEGER, -- its thread
  hang_after_ns INTEGER NOT NULL, -- a capture open for longer counts as left open: 30 s, or 20 times the median capture
  process_closed INTEGER NOT NULL, -- 1: the process ended in order, so a capture still open then was never going to be ended
  PRIMARY KEY (process_id, capture_id)
) STRICT;

-- Work that the capturing thread enqueued on a stream that was not capturing, while its capture was open: it ran once.
CREATE TABLE capture_leak (
  process_id INTEGER NOT NULL, -- process
  capture_id INTEGER NOT NULL, -- capture
  kind TEXT NOT NULL, -- 'kernel' | 'memcpy' | 'memset' | 'comm'
  name TEXT NOT NULL, -- kernel or collective
  stream_id INTEGER, -- stream it ran on
  start_ns INTEGER NOT NULL, -- enqueued
  end_ns INTEGER NOT NULL, -- call returned
  thread_id INTEGER NOT NULL, -- thread
  stack_id INTEGER, -- where
  step INTEGER, -- step
  bytes INTEGER, -- collectives, copies and fills
  in_warmup INTEGER NOT NULL, -- 1: the same operation occurs in eager iterations before the capture
  count INTEGER NOT NULL, -- occurrences of this operation in the capture
  replays_after INTEGER NOT NULL, -- replays of the captured graph, each without it
  known INTEGER NOT NULL -- 0: launches or activity were not recorded over the window
) STRICT;

-- Idle device time between the end of one replay and the start of the next of the same step, or of the step after it
-- (same_step = 0: what "replay gaps" do not mean, but where a wait of every step shows when a step is one graph).
CREATE TABLE replay_gap (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  exec_id INTEGER NOT NULL, -- executable whose replay comes late
  same_step INTEGER NOT NULL, -- 1: both replays were launched in one step
  replay_id INTEGER NOT NULL, -- that replay
  graph_name TEXT NOT NULL, -- name for people: range path of the capture, else "graph N"
  step INTEGER, -- step
  steady INTEGER NOT NULL, -- 1: steady state
  start_ns INTEGER NOT NULL, -- device becomes idle
  end_ns INTEGER NOT NULL, -- replay starts, or other work between the two: the longest idle time counts
  cause TEXT NOT NULL, -- host_sync exec_update data host_other launch_call event peer nccl unknown: the largest part
  cause_detail TEXT, -- the call, stream or rank that the cause names
  host_sync_ns INTEGER NOT NULL, -- parts, in ns; they add up to the gap
  exec_update_ns INTEGER NOT NULL, -- instantiate, update, capture
  data_ns INTEGER NOT NULL, -- copies, fills, loader waits
  host_other_ns INTEGER NOT NULL, -- launching thread busy outside CUDA
  launch_call_ns INTEGER NOT NULL, -- inside the launch call
  event_ns INTEGER NOT NULL, -- device waits for an event
  peer_ns INTEGER NOT NULL, -- device waits for a late peer; 0 without the peers' traces
  nccl_ns INTEGER NOT NULL, -- device waits in communication that is not recorded as busy time, peers unknown
  unknown_ns INTEGER NOT NULL, -- none of these
  thread_id INTEGER, -- launching thread
  stack_id INTEGER, -- of the call that the cause names, else of the launch
  known INTEGER NOT NULL, -- 0: device times or calls are missing here
  noise_ns INTEGER NOT NULL, -- gaps up to this length say nothing on this device
  eager_recorded INTEGER NOT NULL, -- 1: eager device work was recorded, so idle really is idle
  sync_api TEXT, -- blocking call of the launching thread between this launch and the one before it in which the device ran dry; NULL none
  sync_runtime_api TEXT, -- its runtime name
  sync_ns INTEGER, -- how long it blocked
  sync_stack_id INTEGER, -- where
  input_ns INTEGER NOT NULL, -- of host_other_ns, what lies before a copy of input to the device: it was being prepared
  copy_ns INTEGER NOT NULL, -- besides the gap, the device only copied from host memory between the two replays
  input_api TEXT, -- the call that copies the input; NULL none
  input_stack_id INTEGER, -- where
  why TEXT -- why not known, where that is more than the coverage says
) STRICT;

-- Executables: how they were used.
CREATE TABLE exec_reuse (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  graph_id INTEGER, -- template
  capture_id INTEGER, -- capture the template came from
  graph_name TEXT NOT NULL, -- name for people
  signature INTEGER, -- graph signature
  start_ns INTEGER NOT NULL, -- instantiated
  end_ns INTEGER NOT NULL, -- last replay, or destruction
  node_count INTEGER, -- nodes
  replays INTEGER NOT NULL, -- launches that succeeded
  steady_replays INTEGER NOT NULL, -- of these in steady state
  updates INTEGER NOT NULL, -- successful updates
  failed_updates INTEGER NOT NULL, -- updates refused
  instantiate_ns INTEGER NOT NULL, -- time in the instantiate call
  median_replay_ns INTEGER, -- device time of a replay, NULL not measured
  median_launch_ns INTEGER, -- host time of the launch call
  repeats INTEGER NOT NULL, -- launches directly after one of its own, with no other executable and no single kernel in between, where that was recorded
  repeat_step INTEGER, -- step of the first of them
  repeat_ns INTEGER, -- when that was launched
  repeat_stack_id INTEGER, -- where, NULL no stack
  is_optimizer INTEGER NOT NULL, -- 1: its graph holds kernels of an optimizer, and little else
  interval_median_ns INTEGER, -- between its starts on the device (launches where not measured) in steady state, at the same position of two steps that follow each other
  interval_cv REAL, -- coefficient of variation of these intervals inside their populations, NULL below 10
  interval_p99_ns INTEGER, -- 99th percentile
  interval_spread REAL, -- (90th - 10th percentile) / median of these intervals, as deviations from the medians of their populations: single outliers do not move it
  idle_spread_ns INTEGER, -- 90th - 10th percentile of the device's idle time between the replay before (of any executable) and this one, likewise: large when it is launched late, small when the device is slow; NULL device times not measured
  late_ns INTEGER, -- this idle time, summed, beyond its 10th percentile; NULL device times not measured
  intervals INTEGER NOT NULL, -- intervals that these figures rest on; those with other executables launched in between are compared only with each other
  noise_ns INTEGER NOT NULL, -- deviations up to this length say nothing on this device; on a host device at least the spread of the busy time
  stack_id INTEGER, -- where it was instantiated or captured
  launch_stack_id INTEGER -- where it is launched, NULL when no launch carries a stack
) STRICT;

-- Busy time of each device in each step. Here a step lasts, on the device, from the end of the work of the step before to
-- the end of its own work, wherever the host is by then; steps without work have no row.
CREATE TABLE device_busy (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  step INTEGER NOT NULL, -- step
  steady INTEGER NOT NULL, -- 1: steady state
  start_ns INTEGER NOT NULL, -- of the step on the device
  end_ns INTEGER NOT NULL, -- of the step on the device
  busy_ns INTEGER NOT NULL, -- union of kernels, copies, fills (or whole replays where nodes are not recorded)
  busy_without_comm_ns INTEGER, -- the same without communication kernels, NULL where a replay with communication was recorded as a whole
  comm_ns INTEGER NOT NULL, -- union of communication kernels that were recorded one by one
  exposed_comm_ns INTEGER NOT NULL, -- of these, while nothing else runs
  graph_ns INTEGER NOT NULL, -- union of replays
  queued_ns INTEGER NOT NULL, -- ran nothing though a replay had been launched that waited for no other work: start latency, and its turn beside other processes
  graph_replays INTEGER NOT NULL, -- replays
  granularity TEXT NOT NULL, -- 'node' | 'graph' | 'mixed'
  noise_ns INTEGER NOT NULL, -- idle times of steps that differ by no more than this say nothing; 0 on a real device
  known INTEGER NOT NULL, -- 0: eager work or replays were not recorded
  why TEXT -- why not known, where that is more than the coverage says
) STRICT;

-- Device memory in each step.
CREATE TABLE memory_step (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  step INTEGER NOT NULL, -- step
  steady INTEGER NOT NULL, -- 1: steady state
  start_ns INTEGER NOT NULL, -- of the step
  end_ns INTEGER NOT NULL, -- of the step
  peak_bytes INTEGER NOT NULL, -- highest allocated
  end_bytes INTEGER NOT NULL, -- allocated at its end
  alloc_bytes INTEGER NOT NULL, -- allocated in it
  free_bytes INTEGER NOT NULL, -- freed in it
  alloc_count INTEGER NOT NULL, -- allocations in it that the driver served with a blocking call: device, managed, vmm
  previous_peak_bytes INTEGER, -- of the step before, NULL first
  largest_alloc_bytes INTEGER, -- biggest allocation in it
  largest_alloc_stack_id INTEGER, -- where
  largest_alloc_thread_id INTEGER, -- by whom
  replay_only INTEGER NOT NULL, -- 1: the device ran replays in it and no single kernel
  device_used_bytes INTEGER, -- most that a look in it found in use on the device, by anybody; NULL nobody looked
  graph_reserved_bytes INTEGER, -- most that was found reserved by this process's graphs; NULL nobody looked
  known INTEGER NOT NULL -- 0: allocations were not recorded
) STRICT;

-- Replays of nodes that point into memory which is gone, one row per executable and allocation.
CREATE TABLE stale_pointer (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  graph_id INTEGER, -- template
  graph_name TEXT NOT NULL, -- name for people
  node_id INTEGER NOT NULL, -- first node that points there
  node_name TEXT NOT NULL, -- kernel name or node type
  param INTEGER, -- kernel parameter index, NULL copies and fills
  role TEXT NOT NULL, -- 'param' | 'dst' | 'src'
  nodes INTEGER NOT NULL, -- nodes that point there
  address INTEGER NOT NULL, -- the pointer
  allocation_id INTEGER NOT NULL, -- allocation at capture time
  allocation_kind TEXT NOT NULL, -- its kind
  bytes INTEGER NOT NULL, -- its size
  alloc_ns INTEGER NOT NULL, -- when it was allocated
  alloc_stack_id INTEGER, -- where
  free_ns INTEGER NOT NULL, -- when it was freed
  free_thread_id INTEGER, -- by whom
  free_stack_id INTEGER, -- where
  owner_allocation_id INTEGER, -- allocation that holds the address at the first stale replay, NULL nobody
  owner_stack_id INTEGER, -- where that was allocated
  start_ns INTEGER NOT NULL, -- first stale launch
  end_ns INTEGER NOT NULL, -- last stale launch
  replays INTEGER NOT NULL, -- stale launches
  step INTEGER, -- step of the first
  capture_stack_id INTEGER, -- where the node was captured, else where the capture began
  confidence TEXT NOT NULL, -- 'high' freed in the driver | 'medium' freed in the framework's cache | 'low' overlap only
  alloc_place TEXT, -- file:line in function where it was allocated, NULL unknown
  owner_place TEXT, -- the same of the allocation that holds the address now
  known INTEGER NOT NULL -- 0: no launch after the free was seen, but not all launches were recorded
) STRICT;

-- Whether it can be told, for each executable that was launched, that the memory it points to is still its own.
CREATE TABLE memory_watch (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  start_ns INTEGER NOT NULL, -- it was instantiated
  end_ns INTEGER NOT NULL, -- its last launch
  known INTEGER NOT NULL, -- 1: allocations and frees were followed all that time, a framework's included
  why TEXT -- why not, NULL when known
) STRICT;

-- Where people look for the copies and allocations of graphs.
CREATE TABLE node_place (
  process_id INTEGER NOT NULL, -- process
  node_id INTEGER NOT NULL, -- node of a graph
  stack_id INTEGER, -- of the call that made the node; where it has none outside of libraries: where the capture began, else where the graph was created, instantiated, launched; NULL unknown
  PRIMARY KEY (process_id, node_id)
) STRICT;

-- Words that eager runs of a region pass with changing values while its graph repeats one of them, one row per
-- executable, kernel and place. Eager runs are found as launches of the graph's kernels in the graph's order.
CREATE TABLE frozen_scalar (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  graph_id INTEGER, -- template
  graph_name TEXT NOT NULL, -- name for people
  node_id INTEGER, -- first node with this word; NULL: not known
  node_name TEXT, -- kernel
  nodes INTEGER NOT NULL, -- nodes of that kernel that repeat such a word at this place
  param INTEGER, -- kernel parameter index
  offset INTEGER, -- byte offset inside the parameter
  bytes INTEGER, -- width of what changes: 1 to 8
  frozen_value INTEGER, -- the graph's value, as a bit pattern
  frozen_text TEXT, -- the same for people
  eager_text TEXT, -- values of the eager runs for people, in their order
  eager_runs INTEGER NOT NULL, -- eager runs of the region that were seen
  distinct_values INTEGER NOT NULL, -- different values among them
  has_trend INTEGER NOT NULL, -- 1: they rise or fall in steps of a like size, and the graph's value goes on from them
  is_monotone INTEGER NOT NULL, -- 1: the values only rise or only fall
  replays INTEGER NOT NULL, -- launches of the executable that succeeded
  start_ns INTEGER NOT NULL, -- first of them
  end_ns INTEGER NOT NULL, -- last of them
  step INTEGER, -- step of the first
  capture_stack_id INTEGER, -- where the kernel was captured, else where the capture began
  confidence TEXT NOT NULL, -- 'high' three values and a trend | 'medium' | 'low' two values
  known INTEGER NOT NULL -- 0: no eager run of the region was recorded to compare with
) STRICT;

-- Graphs whose kernels eager runs launched in several sizes, while all graphs of these kernels have one; one row per
-- executable of at least 32 kernels. Sizes are grids, and bytes of collectives.
CREATE TABLE frozen_shape (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  graph_name TEXT NOT NULL, -- name for people
  eager_runs INTEGER NOT NULL, -- eager runs of these kernels before the first replay
  sizes INTEGER NOT NULL, -- different sizes among them, of the kernel that has most; 1: all alike
  kernels INTEGER NOT NULL, -- kernels of the graph whose size differs
  kernel TEXT, -- the one with most sizes, NULL with one size
  eager_text TEXT, -- its grids in the eager runs, in their order, for people
  frozen_text TEXT, -- its grid in the graph
  comm_hash INTEGER, -- communicator of the call that has most sizes, NULL: none differs
  comm_kind TEXT, -- the call
  comm_eager_text TEXT, -- its bytes in the eager runs
  comm_bytes INTEGER, -- its bytes in the graph
  comm_stack_id INTEGER, -- where it was captured
  replays INTEGER NOT NULL, -- launches that succeeded
  start_ns INTEGER NOT NULL, -- first of them
  end_ns INTEGER NOT NULL, -- last of them
  step INTEGER, -- step of the first
  stack_id INTEGER, -- where the graph was captured
  known INTEGER NOT NULL, -- 0: nothing to compare: fewer than two eager runs of it were recorded, or it has too few kernels
  why TEXT -- then the reason
) STRICT;

-- Steps in which a region that has (or had) a graph ran as single launches.
CREATE TABLE fallback (
  process_id INTEGER NOT NULL, -- process
  region TEXT NOT NULL, -- range path, else the signature's name
  start_ns INTEGER NOT NULL, -- first fallback
  end_ns INTEGER NOT NULL, -- last fallback
  first_step INTEGER, -- step of the first
  last_step INTEGER, -- step of the last
  eager_runs INTEGER NOT NULL, -- runs without the graph in steady state or after the first replay
  graph_runs INTEGER NOT NULL, -- runs as a replay over the same time
  rate REAL NOT NULL, -- eager_runs / (eager_runs + graph_runs)
  execs INTEGER NOT NULL, -- executables of the region that existed
  reason TEXT NOT NULL, -- 'capture_failed' | 'new_shape' | 'limit' | 'update_failed' | 'unknown' | 'beside' no fallback: other work, in steps that replay the region as often as others do
  reason_detail TEXT, -- sentence part: the failing call, how many executables, ...
  eager_median_ns INTEGER, -- time of the kernels of an eager run, with the waits for single launches between them
  graph_median_ns INTEGER, -- duration of a replayed run
  cost_ns INTEGER, -- (eager - graph) x eager_runs, NULL unknown, never negative
  capture_id INTEGER, -- failed capture that precedes it, NULL none
  thread_id INTEGER, -- launching thread
  stack_id INTEGER, -- of an eager launch or of the failed capture
  known INTEGER NOT NULL -- 0: single launches were not recorded
) STRICT;

-- Communication captured into a graph: bytes of one replay, per executable and communicator.
CREATE TABLE nccl_replay (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  comm_hash INTEGER NOT NULL, -- communicator
  ops INTEGER NOT NULL, -- calls captured
  message_bytes INTEGER NOT NULL, -- bytes of one replay
  wire_bytes INTEGER, -- the same by the bus-bandwidth convention of nccl-tests, NULL: the number of ranks is unknown
  replays INTEGER NOT NULL -- replays of the executable
) STRICT;

-- Communication of each step, per communicator.
CREATE TABLE nccl_step (
  process_id INTEGER NOT NULL, -- process
  comm_hash INTEGER NOT NULL, -- communicator
  nranks INTEGER, -- its ranks, NULL unknown
  step INTEGER NOT NULL, -- step
  steady INTEGER NOT NULL, -- 1: steady state
  start_ns INTEGER NOT NULL, -- of the step
  end_ns INTEGER NOT NULL, -- of the step
  graph_bytes INTEGER NOT NULL, -- message bytes of replays
  eager_bytes INTEGER NOT NULL, -- message bytes of eager calls
  graph_ops INTEGER NOT NULL, -- operations in replays
  eager_ops INTEGER NOT NULL, -- eager calls
  eager_kind TEXT NOT NULL, -- 'none' | 'point_to_point' only sends and receives | 'after_graphs' all after the last launch of a graph in the step, an optimizer's aside, as a gradient reduction | 'between_graphs'
  exposed_eager_ns INTEGER, -- exposed time of eager communication kernels, NULL not measured
  eager_stack_id INTEGER, -- of the largest eager call
  eager_thread_id INTEGER, -- its thread
  known INTEGER NOT NULL -- 0: communication was not recorded
) STRICT;

-- Communicators against the graphs that hold their operations.
CREATE TABLE comm_lifetime (
  process_id INTEGER NOT NULL, -- process
  comm_hash INTEGER NOT NULL, -- communicator
  nranks INTEGER NOT NULL, -- its ranks
  rank INTEGER NOT NULL, -- this process's rank in it
  created_ns INTEGER NOT NULL, -- init
  destroy_start_ns INTEGER, -- destroy entered, NULL never
  destroy_end_ns INTEGER, -- destroy returned, NULL never returned or never called
  waited_ns INTEGER NOT NULL, -- time in destroy, to the end of the process if it never returned
  live_execs INTEGER NOT NULL, -- executables with its operations alive when destroy began
  live_graphs INTEGER NOT NULL, -- graphs likewise
  first_exec_id INTEGER, -- one of them
  graph_name TEXT, -- its name for people
  capture_stack_id INTEGER, -- where it was captured
  destroy_stack_id INTEGER, -- where destroy was called
  destroy_thread_id INTEGER, -- by which thread
  execs_gone_ns INTEGER, -- when the last of them was destroyed, NULL never
  nccl_version INTEGER, -- NCCL_VERSION_CODE, NULL unknown or not NCCL
  aborted INTEGER NOT NULL, -- 1: an abort ended it, not a destroy or finalize
  first_abort INTEGER NOT NULL, -- 1: no other process of this host aborted it before
  open_captures INTEGER NOT NULL, -- captures of this process that were open then
  replays_after INTEGER NOT NULL, -- launches of executables with its operations after it
  first_after_ns INTEGER, -- first of them, NULL none
  after_exec_id INTEGER, -- its executable
  after_stack_id INTEGER, -- where it was launched, or its graph captured
  unfinished INTEGER NOT NULL, -- launches of executables with its operations before it that the device had not ended by then; 0 too where replays were not measured
  failed_after INTEGER NOT NULL, -- calls of this process that failed after it
  first_failed TEXT, -- first of them: driver function and its error, NULL none
  known INTEGER NOT NULL -- 0: communicators were not recorded
) STRICT;

-- Successful captures, each beside the one of its region before it.
CREATE TABLE recapture (
  process_id INTEGER NOT NULL, -- process
  capture_id INTEGER NOT NULL, -- capture
  region TEXT NOT NULL, -- range path of what was captured, else the name of its first graph
  ordinal INTEGER NOT NULL, -- 1 = first capture of the region
  previous_capture_id INTEGER, -- the one before, NULL first
  change TEXT NOT NULL, -- 'first' | strongest difference to the one before: 'same' 'pointers' 'values' (scalar parameters) 'sizes' (launch shapes, bytes) 'topology' (other nodes)
  change_detail TEXT, -- the first such difference, for people; NULL none
  nodes INTEGER NOT NULL, -- nodes, 0 first
  changed_nodes INTEGER NOT NULL, -- nodes that differ
  start_ns INTEGER NOT NULL, -- begin
  end_ns INTEGER NOT NULL, -- end of the capture, or of the last instantiation of its graph
  cost_ns INTEGER NOT NULL, -- time in the capture and in these instantiations
  step INTEGER, -- step
  steady INTEGER NOT NULL, -- 1: in steady state
  live_execs INTEGER NOT NULL, -- executables of the region alive at end_ns
  region_replays INTEGER NOT NULL, -- replays of all executables of the region in steady state
  device_id INTEGER NOT NULL, -- device
  device_bytes INTEGER, -- what the driver had handed out on the device at end_ns, NULL allocations not recorded
  stack_id INTEGER, -- where it began
  thread_id INTEGER, -- by which thread
  known INTEGER NOT NULL, -- 0: calls were not recorded
  updates_only INTEGER NOT NULL -- 1: nothing was instantiated from it, as where it updates an executable
) STRICT;

-- Threads beside captures in global mode, with calls that such a capture forbids every thread; one row a thread.
CREATE TABLE capture_risk (
  process_id INTEGER NOT NULL, -- process
  capture_id INTEGER NOT NULL, -- first of the captures between the thread's first and last such call
  thread_id INTEGER NOT NULL, -- the other thread
  thread TEXT, -- its name
  api TEXT NOT NULL, -- the call it makes most: driver function
  runtime_api TEXT, -- its runtime name
  calls INTEGER NOT NULL, -- such calls
  rate_per_s REAL NOT NULL, -- a second, between the first and the last
  tenths INTEGER NOT NULL, -- in how many tenths of the time between the first and the thread's last call of any kind it makes them
  captures INTEGER NOT NULL, -- successful captures in that time
  mean_open_ns INTEGER NOT NULL, -- how long one is open
  expected REAL NOT NULL, -- calls to expect in one capture: rate x mean
  start_ns INTEGER NOT NULL, -- first such call
  end_ns INTEGER NOT NULL, -- last
  stack_id INTEGER, -- of one of them
  begin_thread_id INTEGER, -- thread that captures
  known INTEGER NOT NULL -- 0: calls were not recorded
) STRICT;

-- Collective calls of one communicator on two ranks of the trace, in the order of the calls: the lowest process beside
-- each other one.
CREATE TABLE rank_divergence (
  process_id INTEGER NOT NULL, -- process
  comm_hash INTEGER NOT NULL, -- communicator
  nranks INTEGER NOT NULL, -- its ranks
  rank INTEGER NOT NULL, -- this process's rank in it
  other_process_id INTEGER, -- the process it is compared with, NULL: no other rank of it is in the trace
  other_rank INTEGER, -- that one's rank
  calls INTEGER NOT NULL, -- calls that both made
  what TEXT NOT NULL, -- first difference: 'none' | 'captured' on one, eager on the other | 'kind' | 'bytes' | 'count' one made more calls
  position INTEGER NOT NULL, -- number of that call from 0
  here TEXT NOT NULL, -- the call in this process, for people
  there TEXT NOT NULL, -- in the other
  start_ns INTEGER NOT NULL, -- when
  step INTEGER, -- step of this process
  thread_id INTEGER, -- thread of the call here
  stack_id INTEGER, -- where it was made here
  other_stack_id INTEGER, -- and there
  known INTEGER NOT NULL, -- 0: communication was not recorded on both from the communicator's creation on, or there is no other
  why TEXT -- why not known, where that is more than the coverage says
) STRICT;

-- Graphs that some processes of a job captured while another one launches the same kernels one by one and never tried
-- to capture any of them; one row per graph and process without it. Processes are of one job when they ran at the same
-- time and share a communicator, or, where not both have any, have different ranks of the same world size.
CREATE TABLE rank_graph (
  process_id INTEGER NOT NULL, -- lowest process of the job that captured it
  capture_id INTEGER NOT NULL, -- its first capture there
  graph_name TEXT NOT NULL, -- its name for people
  kernels INTEGER NOT NULL, -- kernels in it
  captured_by INTEGER NOT NULL, -- processes of the job that captured it
  replays INTEGER NOT NULL, -- launches of it in these that succeeded
  other_process_id INTEGER NOT NULL, -- process without it
  eager_runs INTEGER NOT NULL, -- how often that one launched its kernels one by one in steady steps
  start_ns INTEGER NOT NULL, -- capture began
  end_ns INTEGER NOT NULL, -- and ended
  step INTEGER, -- step of the capture
  thread_id INTEGER, -- thread that captured it
  stack_id INTEGER, -- where
  known INTEGER NOT NULL -- 0: single launches of the other process were not recorded
) STRICT;

-- What a graph manager said of its graphs in marks "graph NAME: STATE -> STATE (REASON)", see docs/recording.md; one row
-- per process, graph, change of state and reason.
CREATE TABLE graph_decision (
  process_id INTEGER NOT NULL, -- process
  graph TEXT NOT NULL, -- its name of the graph
  from_state TEXT NOT NULL, -- state before, such as 'capturing'
  to_state TEXT NOT NULL, -- state after: 'ready' | 'failed' | any other word
  reason TEXT, -- why, NULL not said
  count INTEGER NOT NULL, -- how often
  start_ns INTEGER NOT NULL, -- first time
  end_ns INTEGER NOT NULL, -- last time
  step INTEGER, -- step of the first
  thread_id INTEGER, -- thread of the first
  ready_after INTEGER NOT NULL -- 1: after the last time it said 'ready' of that graph
) STRICT;

-- Versions of CUDA that concern a process, from every place that names one; one row per component and place.
CREATE TABLE stated_version (
  process_id INTEGER NOT NULL, -- process
  component TEXT NOT NULL, -- 'driver' newest CUDA that it serves | 'runtime' | 'built_for' what the program was built for | 'container' of the image
  version TEXT NOT NULL, -- as text, such as '12.4'
  number INTEGER NOT NULL, -- 1000 x major + 10 x minor
  source TEXT NOT NULL -- the process_fact, environment variable or mark that names it
) STRICT;

-- Nodes of one graph and of the child graphs in it that use the same memory though neither waits for the other, one row
-- per executable and pair of names. Of kernels it is not known how far they go, nor what they do with a pointer, but
-- that one writes to T* which takes others as T const*: it meets a kernel with the same pointer as T const* and the same
-- numbers.
CREATE TABLE unordered_access (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable that was launched
  graph_id INTEGER NOT NULL, -- its template
  graph_name TEXT NOT NULL, -- name for people
  writer_node_id INTEGER NOT NULL, -- copy, fill, collective or kernel that writes
  writer_name TEXT NOT NULL, -- its name or type
  writer_param INTEGER, -- kernel parameter index, NULL other nodes
  other_node_id INTEGER NOT NULL, -- node that uses what is written
  other_name TEXT NOT NULL, -- its name or type
  other_role TEXT NOT NULL, -- 'reads' | 'writes' | 'uses' a kernel parameter points there: of a kernel that writes, as T const*
  other_param INTEGER, -- kernel parameter index, NULL other nodes
  reason TEXT NOT NULL, -- 'no_path' between the nodes | 'same_group' calls of one communication group run at the same time
  address INTEGER NOT NULL, -- first byte that both use
  bytes INTEGER, -- from there to the end of what is written; of a kernel that writes, to the end of the allocation, NULL unknown
  pairs INTEGER NOT NULL, -- pairs of nodes with these names
  writer_stream_id INTEGER, -- stream that the writer was captured from, NULL of a child graph's node
  other_stream_id INTEGER, -- the other's
  writer_holder_id INTEGER, -- node of the graph with both whose child graph the writer is in, NULL the writer is its node
  other_holder_id INTEGER, -- the other's
  replays INTEGER NOT NULL, -- launches that succeeded
  start_ns INTEGER NOT NULL, -- first launch
  end_ns INTEGER NOT NULL, -- last launch
  step INTEGER, -- step of the first
  thread_id INTEGER, -- thread that captured the writer
  stack_id INTEGER, -- where the later of the two was made, else the other; else as node_place
  confidence TEXT NOT NULL, -- 'high' both ranges are known | 'medium' one is a kernel's pointer
  known INTEGER NOT NULL -- 0: edges or parameters of the graph are not known, or it is too large to judge
) STRICT;

-- Executables that use the same memory, launched so that one of them overwrites what another has still to read; one row
-- per pair that belongs together.
CREATE TABLE pool_conflict (
  process_id INTEGER NOT NULL, -- process
  what TEXT NOT NULL, -- 'order' another one ran between two that follow each other in the order of captures | 'overlap' they ran at the same time | 'again' one ran again before another used what it had left
  exec_id INTEGER NOT NULL, -- the one that came between, or the one that writes
  graph_name TEXT NOT NULL, -- its name for people
  first_exec_id INTEGER NOT NULL, -- the one before it
  first_name TEXT NOT NULL, -- its name for people
  second_exec_id INTEGER, -- the one that should have followed that, NULL overlap
  second_name TEXT, -- its name for people
  addresses INTEGER NOT NULL, -- addresses that all of them use
  address INTEGER NOT NULL, -- one of them
  steps INTEGER NOT NULL, -- steps in which it happened
  start_ns INTEGER NOT NULL, -- first time
  end_ns INTEGER NOT NULL, -- last time
  step INTEGER, -- step of the first time
  thread_id INTEGER, -- launching thread
  stack_id INTEGER, -- where the one in between is launched, else captured
  confidence TEXT NOT NULL -- 'high' one of them is known to write there | 'medium' | 'low' overlap: whether something ordered them was not recorded; order, again: the memory is no pool's, as far as was recorded
) STRICT;

-- Copies and fills of the job itself into memory that an executable uses, seen on the device while a replay of it ran on
-- another stream, though neither waits for the other; one row per executable. Not of executables that were updated, nor
-- of graphs with nodes that wait for events.
CREATE TABLE unordered_copy (
  process_id INTEGER NOT NULL, -- process
  exec_id INTEGER NOT NULL, -- executable
  graph_name TEXT NOT NULL, -- name for people
  api TEXT NOT NULL, -- call of the first such copy or fill
  stream_id INTEGER NOT NULL, -- stream of that
  replay_stream_id INTEGER NOT NULL, -- stream of the replay beside it
  launched_beside INTEGER NOT NULL, -- 1: the executable is launched into the copy's stream, too
  address INTEGER NOT NULL, -- first byte that both use
  bytes INTEGER NOT NULL, -- that the first one wrote
  times INTEGER NOT NULL, -- such copies and fills
  replays INTEGER NOT NULL, -- launches of the executable that succeeded
  overlap_ns INTEGER NOT NULL, -- longest time that one of them and a replay ran at once
  start_ns INTEGER NOT NULL, -- first call of the first two
  end_ns INTEGER NOT NULL, -- end of the last of them
  step INTEGER, -- step of the first replay
  thread_id INTEGER, -- thread that called for the copy
  stack_id INTEGER, -- launched_beside: where that stream launches, else where a copy was called for; else the launch, the instantiate, the capture
  confidence TEXT NOT NULL -- 'medium' | 'low' whether something orders them was not recorded
) STRICT;

-- Replays and communication that did not come to an end, or that a device error ended.
CREATE TABLE stall (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  kind TEXT NOT NULL, -- 'replay' | 'comm'
  exec_id INTEGER, -- replay: executable
  name TEXT NOT NULL, -- graph, or the operation
  comm_hash INTEGER, -- communicator that it waits in, NULL unknown
  nranks INTEGER, -- its ranks
  rank INTEGER, -- this process's rank in it
  peer INTEGER, -- rank that a send or receive names
  outcome TEXT NOT NULL, -- 'never' not over when the process ended | 'late' over after the limit | 'failed' ended by a device error
  error TEXT, -- failed: its CUDA name
  start_ns INTEGER NOT NULL, -- started, or was launched
  end_ns INTEGER NOT NULL, -- ended, or the process did
  limit_ns INTEGER NOT NULL, -- longer counts as stalled
  others TEXT, -- what the other ranks in the trace were doing meanwhile, for people; NULL: none is, or the communicator is unknown
  absent_ranks INTEGER NOT NULL, -- ranks of the communicator that are not in the trace, 0 where it is unknown
  cycle INTEGER NOT NULL, -- 1: every rank of the cycle waits in a send to the next one, or all in a receive from it
  step INTEGER, -- step
  thread_id INTEGER, -- launching thread
  stack_id INTEGER, -- where it was launched
  known INTEGER NOT NULL, -- 0: ends of replays were not recorded
  went_on INTEGER NOT NULL -- late: 1 where a later replay of the stream ran: it had waited, as for a rank that saves a checkpoint
) STRICT;

-- The first error of a process that its device does not recover from (an illegal access, an assertion in a kernel, ...),
-- and the launches of graphs that nothing shows to have ended by then. One row per process that had such an error.
CREATE TABLE device_fault (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER, -- of the failing call
  result INTEGER NOT NULL, -- CUresult number
  api TEXT NOT NULL, -- first recorded call that returned it: where the error was seen, not where it comes from
  start_ns INTEGER NOT NULL, -- that call
  end_ns INTEGER NOT NULL, -- and its return
  thread_id INTEGER, -- and its thread
  thread_name TEXT, -- the thread's name, NULL unknown
  stack_id INTEGER, -- and where it was made
  place TEXT, -- file:line in function of that, NULL unknown
  failed_calls INTEGER NOT NULL, -- calls that returned it from then on
  recovered INTEGER NOT NULL, -- 1: the device worked again afterwards, so the job had reset it
  launches INTEGER NOT NULL, -- of graphs, by then, all executables
  measured INTEGER NOT NULL, -- of these, with device times
  in_flight INTEGER NOT NULL, -- of these, launches that nothing shows to have ended
  execs INTEGER NOT NULL, -- executables among these
  have_times INTEGER NOT NULL, -- 1: all of them have device times
  eager_kernels INTEGER, -- kernels outside graphs that ended after the first replay; NULL: 0, but not all that time was recorded, or the device's records of it were lost
  exec_id INTEGER, -- the executable in flight to look at first: one with a stale pointer, else the one launched first; NULL: none was
  graph_name TEXT, -- name for people
  graph_signature INTEGER, -- of its graph
  first_launch INTEGER, -- its first launch in flight, counted from 1
  last_launch INTEGER, -- its last one
  launch_ns INTEGER, -- when the last one was called for
  launch_place TEXT, -- file:line in function of it, or of another launch of the executable
  capture_place TEXT, -- the same of the capture
  others TEXT, -- the other executables in flight, for people
  how TEXT, -- what makes nodes suspects: 'stale' | 'running' | 'descriptor' | 'index' | 'any'
  suspects INTEGER, -- nodes
  kernels INTEGER, -- kernels of the graph
  suspect1 TEXT, -- kernel name or node type of the first; NULL: no kernel is known
  suspect2 TEXT, -- of the next with another name
  suspect3 TEXT, -- and another
  work_stack_id INTEGER, -- where the only suspect was captured, else where the executable is launched, captured, made
  step INTEGER, -- step of the last launch
  first_process_id INTEGER, -- a process of the same communicator that failed before, NULL: this was the first, or clocks do not tell
  after_ns INTEGER -- how long before
) STRICT;

-- Rings of sends and receives that eager calls turned round while the captured ones keep their direction.
CREATE TABLE ring_peers (
  process_id INTEGER NOT NULL, -- process
  comm_hash INTEGER NOT NULL, -- communicator
  nranks INTEGER NOT NULL, -- its ranks
  rank INTEGER NOT NULL, -- this process's rank in it
  exec_id INTEGER NOT NULL, -- executable that holds the sends
  graph_name TEXT NOT NULL, -- its name for people
  captured_peer INTEGER NOT NULL, -- rank that all its sends go to
  eager_peers TEXT NOT NULL, -- ranks that eager sends went to, one a direction, in the order of the calls, for people
  peers INTEGER NOT NULL, -- different ones among them
  directions INTEGER NOT NULL, -- how often they kept a direction for some calls
  replays INTEGER NOT NULL, -- launches that succeeded
  start_ns INTEGER NOT NULL, -- first of them
  end_ns INTEGER NOT NULL, -- last of them
  step INTEGER, -- step of the first
  thread_id INTEGER, -- thread that captured the send
  stack_id INTEGER, -- where it was captured
  known INTEGER NOT NULL -- 0: communication was not recorded
) STRICT;

-- Time that devices spend in communication, beside the bytes of the communicator that moves most in collectives; one row
-- per process and device. The least of all steps and ranks holds no wait for a late rank.
CREATE TABLE comm_cost (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  comm_hash INTEGER NOT NULL, -- communicator that moves most bytes in collectives
  nranks INTEGER NOT NULL, -- its ranks
  hosts INTEGER NOT NULL, -- different hosts of its processes in the trace
  local_ranks INTEGER, -- ranks of the job on this host, by the launcher's variables; NULL unknown
  is_modelled INTEGER NOT NULL, -- 1: a model of a network stands for the communicator
  steps INTEGER NOT NULL, -- steady steps
  step_ns INTEGER NOT NULL, -- median step on the device
  comm_ns INTEGER NOT NULL, -- median time of a step with communication kernels running
  least_comm_ns INTEGER NOT NULL, -- least of all steady steps and ranks of the communicator
  idle_ns INTEGER NOT NULL, -- median idle time of a step
  bytes INTEGER NOT NULL, -- message bytes of the communicator in a step
  graph_bytes INTEGER NOT NULL, -- of these in replays
  wire_bytes_per_s INTEGER, -- bus bandwidth of nccl-tests from the step with the least communication, NULL unknown
  start_ns INTEGER NOT NULL, -- first steady step
  end_ns INTEGER NOT NULL, -- last
  thread_id INTEGER, -- thread of its largest call
  stack_id INTEGER, -- where its largest call was made or captured
  known INTEGER NOT NULL -- 0: communication kernels were not recorded one by one
) STRICT;

-- What graphs do for each device of a process in its steady steps, and what its idle time waits for; one row per process
-- and device (host runtimes: none). The idle times add up to wall_ns - busy_ns.
CREATE TABLE graph_payoff (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  devices INTEGER NOT NULL, -- devices that the process gives work to
  steps INTEGER NOT NULL, -- steady steps that are known
  start_ns INTEGER NOT NULL, -- of the first on the device
  end_ns INTEGER NOT NULL, -- of the last
  wall_ns INTEGER NOT NULL, -- their length on the device
  busy_ns INTEGER NOT NULL, -- of this, in which the device ran something
  exposed_comm_ns INTEGER NOT NULL, -- of busy_ns, communication while nothing else runs
  graph_ns INTEGER NOT NULL, -- of busy_ns, inside replays
  queued_ns INTEGER NOT NULL, -- as in device_busy
  replays INTEGER NOT NULL, -- replays
  single_kernels INTEGER NOT NULL, -- kernels launched singly, communication too
  single_idle_ns INTEGER NOT NULL, -- idle: the host had not yet launched the next single kernel, copy or fill (500 us at most)
  replay_host_idle_ns INTEGER NOT NULL, -- idle: it had not yet called for the next replay (500 us at most)
  replay_call_idle_ns INTEGER NOT NULL, -- idle: it was inside the call that launches the next replay
  replay_start_idle_ns INTEGER NOT NULL, -- idle: it had launched the next replay
  sync_idle_ns INTEGER NOT NULL, -- idle: it had waited until the device ran dry
  data_idle_ns INTEGER NOT NULL, -- idle: it prepared or copied input
  call_idle_ns INTEGER NOT NULL, -- idle: it captured, instantiated, updated or allocated
  other_idle_ns INTEGER NOT NULL, -- idle: longer host work, communication, events, time inside replays
  graph_launch_ns INTEGER NOT NULL, -- host time inside calls that launch replays
  baseline_ns INTEGER NOT NULL, -- device time of replays of executables with an eager baseline: kernels that had run singly, three times or more, before they were captured
  baseline_replay_ns INTEGER NOT NULL, -- device time of all replays
  baseline_busy REAL, -- share of such a run in which the device was busy: the least of each executable, their mean by device time; NULL no baseline
  baseline_runs INTEGER NOT NULL, -- least number of runs that it rests on, without the first; 0 no baseline
  baseline_launch_share REAL, -- host time inside launch calls of these runs over the device time of their kernels, NULL launches were not recorded
  exec_id INTEGER, -- executable with most device time, NULL no replays
  graph_name TEXT, -- its name for people
  step INTEGER, -- first of the steps
  thread_id INTEGER, -- thread that launches it; without replays the thread of the steps
  stack_id INTEGER, -- where it was captured, else instantiated, else launched
  known INTEGER NOT NULL, -- 0: eager work or replays were not recorded in a twentieth of the steady steps or more
  why TEXT -- why not known, where that is more than the coverage says
) STRICT;

-- Work outside of graphs in the steady steps of graph_payoff, by the ranges it lies in: the eight with most idle and busy
-- time of each device.
CREATE TABLE uncaptured_region (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  place INTEGER NOT NULL, -- 1 = most single_idle_ns, then busy_ns
  name TEXT NOT NULL, -- the two outermost ranges below the step's own, else 'after GRAPH' the replay before it, else 'single launches'
  is_range INTEGER NOT NULL, -- 1: these are ranges
  kernels TEXT NOT NULL, -- names of the kernels with most idle and busy time, for people, or 'copies and fills'
  launches INTEGER NOT NULL, -- kernels, copies and fills
  busy_ns INTEGER NOT NULL, -- their device time, summed
  single_idle_ns INTEGER NOT NULL, -- idle time before them as in graph_payoff
  start_ns INTEGER NOT NULL, -- start of the first
  end_ns INTEGER NOT NULL, -- end of the last
  stack_id INTEGER -- of a launch of them, else of the replay before them; NULL no stack
) STRICT;

-- What launching each executable costs in the steady steps of graph_payoff; one row per executable launched in them. Idle
-- time after a wait of the host, and while it prepares something else, is not in it.
CREATE TABLE launch_cost (
  process_id INTEGER NOT NULL, -- process
  device_id INTEGER NOT NULL, -- device
  exec_id INTEGER NOT NULL, -- executable
  graph_name TEXT NOT NULL, -- name for people
  start_ns INTEGER NOT NULL, -- first of these launches
  end_ns INTEGER NOT NULL, -- end of the last on the device
  created_ns INTEGER NOT NULL, -- instantiated
  node_count INTEGER, -- nodes, NULL unknown
  updates INTEGER NOT NULL, -- successful updates, at any time
  launches INTEGER NOT NULL, -- launches
  waits INTEGER NOT NULL, -- of these, the device idled inside the call or between call and start, and no wait of the host is to blame
  host_idle_ns INTEGER NOT NULL, -- idle of the device before the calls (500 us each at most)
  call_idle_ns INTEGER NOT NULL, -- idle inside the calls, without the executable's first launch
  start_idle_ns INTEGER NOT NULL, -- idle between call and start
  median_launch_ns INTEGER NOT NULL, -- host time of the call
  median_replay_ns INTEGER NOT NULL, -- device time
  first_launch_ns INTEGER, -- host time of its very first launch, NULL when that lies outside these steps
  first_idle_ns INTEGER, -- idle of the device in that call
  thread_id INTEGER, -- launching thread
  stack_id INTEGER, -- where it is launched, else captured
  known INTEGER NOT NULL -- as in graph_payoff
) STRICT;

-- The figures on top of a report; one row per process and figure, and one with process_id 0 for the job.
CREATE TABLE vital_sign (
  process_id INTEGER NOT NULL, -- process, 0 = whole job
  name TEXT NOT NULL, -- group.figure, such as replay_gap.p99_ns; the list is in docs/vital-signs.md
  value REAL, -- NULL: not measured
  unit TEXT NOT NULL, -- 'ns' | 'bytes' | 'ratio' | 'count' | 'text'
  text TEXT, -- value of unit 'text'
  state TEXT NOT NULL, -- coverage: 'complete' | 'partial' | 'absent'
  reason TEXT, -- why it is not complete
  healthy TEXT, -- healthy range for people, NULL none
  verdict TEXT NOT NULL -- 'ok' | 'look' | 'none' (not judged)
) STRICT;
