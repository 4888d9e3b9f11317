-- SPDX-License-Identifier: Apache-2.0
-- rule: GD506 mixing-off
-- title: Captured and eager calls share a communicator though mixing is switched off
-- severity: warning
-- impact: job_hangs
-- confidence: medium
-- root: comm
-- needs: comm_ops>=partial, callbacks>=partial
-- param steps_min: 3
-- why: NCCL adds events to captured calls, so that eager calls and other graphs on the same communicator wait for them.
--   NCCL_GRAPH_MIXING_SUPPORT=0 leaves them out. Then a replay and an eager call on one communicator may run at the same
--   time, on each rank in another order, and wait for each other. Whether it happens depends on timing.
-- fix: Unset NCCL_GRAPH_MIXING_SUPPORT. Or keep the communicator for graphs alone: make a second one for the eager calls
--   (torch.distributed.new_group, ncclCommSplit), and launch its graphs from one stream.
-- source: NCCL user guide, environment variables (NCCL_GRAPH_MIXING_SUPPORT) and use with CUDA graphs
-- message: communicator of {nranks:count rank}: in {steps:count step} it served replays and eager calls, with NCCL_GRAPH_MIXING_SUPPORT={value}
SELECT s.process_id, MIN(s.start_ns) AS start_ns, MAX(s.end_ns) AS end_ns,
  MIN(s.step) AS step, MAX(s.eager_thread_id) AS thread_id,
  MAX(s.eager_stack_id) AS stack_id, s.comm_hash AS root_id, s.nranks,
  COUNT(*) AS steps, e.value,
  'communicator' AS ev1_label, printf('0x%x', s.comm_hash) AS ev1_value,
  'captured calls in a step' AS ev2_label, MAX(s.graph_ops) AS ev2_value,
  'eager calls in a step' AS ev3_label, MAX(s.eager_ops) AS ev3_value
FROM nccl_step AS s
JOIN env_var AS e USING (process_id)
WHERE e.name = 'NCCL_GRAPH_MIXING_SUPPORT' AND e.value = '0'
  AND s.known AND s.steady AND s.nranks > 1 AND s.graph_ops AND s.eager_ops
GROUP BY s.process_id, s.comm_hash
HAVING COUNT(*) >= :steps_min
ORDER BY s.process_id, s.comm_hash;
-- test: fires at the least number of steps
INSERT INTO env_var (process_id, name, value) VALUES (1, 'NCCL_GRAPH_MIXING_SUPPORT', '0'), (1, 'NCCL_DEBUG', '0');
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_ops, eager_ops, eager_stack_id)
VALUES (1, 171, 2, 5, 1, 50, 60, 4, 1, NULL), (1, 171, 2, 6, 1, 60, 70, 4, 2, 8), (1, 171, 2, 7, 1, 70, 80, 4, 1, NULL);
-- expect: communicator of 2 ranks: in 3 steps it served replays and eager calls, with NCCL_GRAPH_MIXING_SUPPORT=0 | root_id=171 stack_id=8 step=5 start_ns=50 end_ns=80 ev2_value=4 ev3_value=2 severity=warning
-- test: quiet in two steps, with mixing on or not named, and where only one of the two kinds of calls is made
INSERT INTO env_var (process_id, name, value) VALUES (1, 'NCCL_GRAPH_MIXING_SUPPORT', '0'),
  (2, 'NCCL_GRAPH_MIXING_SUPPORT', '1'), (3, 'NCCL_DEBUG', '0'), (4, 'NCCL_GRAPH_MIXING_SUPPORT', '0'),
  (5, 'NCCL_GRAPH_MIXING_SUPPORT', '0');
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, graph_ops, eager_ops)
VALUES (1, 171, 2, 5, 1, 4, 1), (1, 171, 2, 6, 1, 4, 2), (1, 172, 2, 6, 1, 4, 2),
  (2, 171, 2, 5, 1, 4, 1), (2, 171, 2, 6, 1, 4, 2), (2, 171, 2, 7, 1, 4, 2),
  (3, 171, 2, 5, 1, 4, 1), (3, 171, 2, 6, 1, 4, 2), (3, 171, 2, 7, 1, 4, 2),
  (4, 171, 2, 5, 1, 4, 0), (4, 171, 2, 6, 1, 4, 0), (4, 171, 2, 7, 1, 4, 0),
  (5, 171, 2, 5, 1, 0, 4), (5, 171, 2, 6, 1, 0, 4), (5, 171, 2, 7, 1, 0, 4);
-- expect: none
-- test: quiet for one rank, outside steady state, and where communication was not recorded
INSERT INTO env_var (process_id, name, value) VALUES (1, 'NCCL_GRAPH_MIXING_SUPPORT', '0'),
  (2, 'NCCL_GRAPH_MIXING_SUPPORT', '0'), (3, 'NCCL_GRAPH_MIXING_SUPPORT', '0');
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, graph_ops, eager_ops, known)
VALUES (1, 171, 1, 5, 1, 4, 1, 1), (1, 171, 1, 6, 1, 4, 2, 1), (1, 171, 1, 7, 1, 4, 2, 1),
  (2, 171, 2, 5, 0, 4, 1, 1), (2, 171, 2, 6, 0, 4, 2, 1), (2, 171, 2, 7, 0, 4, 2, 1),
  (3, 171, 2, 5, 1, 4, 1, 0), (3, 171, 2, 6, 1, 4, 2, 0), (3, 171, 2, 7, 1, 4, 2, 0);
-- expect: none
