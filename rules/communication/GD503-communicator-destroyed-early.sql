-- SPDX-License-Identifier: Apache-2.0
-- rule: GD503 communicator-destroyed-early
-- title: Communicator destroyed while graphs still use it
-- severity: warning
-- impact: job_hangs
-- confidence: high
-- root: comm
-- needs: comm_ops>=partial, callbacks>=partial
-- param hang_s: 10
-- param returned_s: 1
-- param since_version: 22600
-- why: A graph with captured NCCL calls holds a reference to their communicator. ncclCommDestroy,
--   ncclCommFinalize and destroy_process_group wait until the last such graph and executable is gone; if that
--   happens later in the same thread, or at exit, all ranks wait for ever. A call that came back at once did not wait
--   this time, which is only mentioned. An abort waits for nothing (GD509).
-- fix: Destroy graphs first: del the torch.cuda.CUDAGraph objects (or g.reset()), clear caches that hold them
--   (compiled functions, TransformerEngine callables, framework graph managers), gc.collect(),
--   torch.cuda.synchronize(), then torch.distributed.destroy_process_group(). In C++ cudaGraphExecDestroy and
--   cudaGraphDestroy before ncclCommDestroy.
-- source: NCCL user guide and source (captured operations keep the communicator, NCCL 2.26 and later); both
--   ranks hang in ncclCommDestroy while executables live: reproduced on an H200
-- message: communicator of {nranks:count rank}: destroyed while {execs:count executable} and {graphs:count graph} with its calls are alive{graph}; the call {outcome}
SELECT c.process_id, c.destroy_start_ns AS start_ns,
  c.destroy_start_ns + c.waited_ns AS end_ns, c.waited_ns AS cost_ns,
  COALESCE(c.destroy_stack_id, c.capture_stack_id) AS stack_id,
  c.destroy_thread_id AS thread_id, c.comm_hash AS root_id, c.nranks,
  c.live_execs AS execs, c.live_graphs AS graphs,
  COALESCE(', such as ' || c.graph_name, '') AS graph,
  CASE WHEN c.destroy_end_ns IS NULL
    THEN printf('had not returned after %.1f s', c.waited_ns / 1e9)
    ELSE printf('took %.1f s', c.waited_ns / 1e9) END AS outcome,
  CASE WHEN c.waited_ns >= :hang_s * 1e9 THEN 'error'
    WHEN c.destroy_end_ns IS NOT NULL AND c.waited_ns < :returned_s * 1e9
      THEN 'info' ELSE 'warning' END AS severity,
  CASE WHEN c.nccl_version IS NULL THEN 'medium' ELSE 'high' END AS confidence,
  'communicator' AS ev1_label, printf('0x%x', c.comm_hash) AS ev1_value,
  'one of the executables' AS ev2_label, c.first_exec_id AS ev2_value,
  'last of them destroyed' AS ev3_label, c.execs_gone_ns AS ev3_value,
  'ns' AS ev3_unit, 'NCCL version' AS ev4_label, c.nccl_version AS ev4_value
FROM comm_lifetime AS c
WHERE c.known AND c.destroy_start_ns IS NOT NULL AND NOT c.aborted
  AND (c.live_execs OR c.live_graphs)
  AND COALESCE(c.nccl_version, :since_version) >= :since_version
ORDER BY c.process_id, c.comm_hash;
-- test: fires, and is an error from ten seconds on
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, rank, destroy_start_ns, waited_ns,
  live_execs, live_graphs, graph_name, nccl_version, destroy_stack_id,
  capture_stack_id)
VALUES (1, 171, 4, 0, 100, 9999999999, 2, 1, 'cycle', 22600, 5, 6),
  (2, 171, 4, 0, 100, 10000000000, 2, 1, 'cycle', 22600, 5, 6);
-- expect: communicator of 4 ranks: destroyed while 2 executables and 1 graph with its calls are alive, such as cycle; the call had not returned after 10.0 s | severity=warning root_id=171 stack_id=5 confidence=high
-- expect: communicator of 4 ranks: destroyed while 2 executables and 1 graph with its calls are alive, such as cycle; the call had not returned after 10.0 s | severity=error
-- test: fires for graphs alone, with an unknown version less surely, and when the call came back
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, rank, destroy_start_ns, waited_ns,
  live_execs, live_graphs, graph_name, nccl_version, destroy_stack_id,
  capture_stack_id, destroy_end_ns)
VALUES (1, 171, 4, 0, 100, 500000000, 0, 1, 'cycle', NULL, 5, 6, 999);
-- expect: communicator of 4 ranks: destroyed while 0 executables and 1 graph with its calls are alive, such as cycle; the call took 0.5 s | confidence=medium severity=info
-- test: a call that came back within a second is only mentioned
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, destroy_start_ns, waited_ns, live_execs, nccl_version,
  destroy_end_ns)
VALUES (1, 171, 4, 100, 999999999, 1, 22600, 1000000099), (2, 171, 4, 100, 1000000000, 1, 22600, 1000000100),
  (3, 171, 4, 100, 999999999, 1, 22600, NULL);
-- expect: communicator of 4 ranks: destroyed while 1 executable and 0 graphs with its calls are alive; the call took 1.0 s | process_id=1 severity=info
-- expect: communicator of 4 ranks: destroyed while 1 executable and 0 graphs with its calls are alive; the call took 1.0 s | process_id=2 severity=warning
-- expect: communicator of 4 ranks: destroyed while 1 executable and 0 graphs with its calls are alive; the call had not returned after 1.0 s | process_id=3 severity=warning
-- test: quiet for an abort, which waits for nothing
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, destroy_start_ns, destroy_end_ns, waited_ns, live_execs,
  nccl_version, aborted)
VALUES (1, 171, 4, 100, 5000100, 5000000, 1, 22809, 1), (2, 171, 4, 100, NULL, 9000000000, 1, 22809, 1);
-- expect: none
-- test: quiet when never destroyed, when the graphs were gone before, for older NCCL, and where it was not recorded
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, rank, destroy_start_ns, waited_ns,
  live_execs, live_graphs, graph_name, nccl_version, destroy_stack_id,
  capture_stack_id, known)
VALUES (1, 171, 4, 0, NULL, 9999999999, 2, 1, 'cycle', 22600, 5, 6, 1),
  (2, 171, 4, 0, 100, 9999999999, 0, 0, 'cycle', 22600, 5, 6, 1),
  (3, 171, 4, 0, 100, 9999999999, 2, 1, 'cycle', 22599, 5, 6, 1),
  (4, 171, 4, 0, 100, 9999999999, 2, 1, 'cycle', 22600, 5, 6, 0);
-- expect: none
