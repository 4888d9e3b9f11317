-- SPDX-License-Identifier: Apache-2.0
-- rule: GD504 replay-after-end
-- title: Graph launched after its communicator was gone
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: comm
-- needs: comm_ops>=partial, callbacks>=partial
-- why: A captured collective belongs to the communicator it was captured with. Once that was destroyed or aborted, the
--   graph's launch fails, hangs or works on memory that NCCL has given back. A new communicator of the same ranks does not
--   help: the graph keeps the old one.
-- fix: After each new init_process_group (elastic restart, a rank that was replaced, a restored checkpoint) capture again,
--   on all ranks. Reset the old graphs first: del the torch.cuda.CUDAGraph objects or g.reset(), and the caches that hold
--   them. In C++ cudaGraphExecDestroy before ncclCommDestroy or ncclCommAbort.
-- source: NCCL user guide, using NCCL with CUDA graphs; NVIDIA, CUDA graph best practice for PyTorch
-- message: communicator of {nranks:count rank}: {graph} was launched {replays:count time} after the communicator was {gone}
SELECT c.process_id, c.first_after_ns AS start_ns, c.first_after_ns AS end_ns,
  c.after_stack_id AS stack_id, c.comm_hash AS root_id, c.nranks,
  COALESCE(x.graph_name, 'executable ' || c.after_exec_id) AS graph,
  c.replays_after AS replays,
  CASE WHEN c.aborted THEN 'aborted' ELSE 'destroyed' END AS gone,
  'communicator' AS ev1_label, printf('0x%x', c.comm_hash) AS ev1_value,
  'it ended' AS ev2_label, c.destroy_start_ns AS ev2_value, 'ns' AS ev2_unit,
  'executable' AS ev3_label, c.after_exec_id AS ev3_value,
  'first failed call' AS ev4_label, c.first_failed AS ev4_value
FROM comm_lifetime AS c
LEFT JOIN exec_reuse AS x ON x.process_id = c.process_id
  AND x.exec_id = c.after_exec_id
WHERE c.known AND c.replays_after
ORDER BY c.process_id, c.comm_hash;
-- test: fires after an abort and after a destroy
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, rank, destroy_start_ns, aborted, replays_after,
  first_after_ns, after_exec_id, after_stack_id)
VALUES (1, 171, 4, 2, 100, 1, 3, 200, 5, 8),
  (1, 172, 2, 0, 100, 0, 1, 200, 6, 8);
INSERT INTO exec_reuse (process_id, exec_id, graph_name) VALUES (1, 5, 'cycle');
-- expect: communicator of 4 ranks: cycle was launched 3 times after the communicator was aborted | root_id=171 stack_id=8 start_ns=200
-- expect: communicator of 2 ranks: executable 6 was launched 1 time after the communicator was destroyed
-- test: quiet without such a launch, and where communicators were not recorded
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, rank, destroy_start_ns, replays_after, known)
VALUES (1, 171, 4, 2, 100, 0, 1),
  (2, 171, 4, 2, 100, 3, 0);
-- expect: none
