-- SPDX-License-Identifier: Apache-2.0
-- rule: GD501 bytes-outside-graphs
-- title: Communication runs outside the graphs
-- severity: info
-- impact: slow
-- confidence: high
-- root: comm
-- needs: comm_ops>=partial, callbacks>=partial
-- param in_graph_min: 0.80
-- param exposed_share: 0.05
-- param bytes_min: 100
-- why: A part of the bytes that this communicator moves in a step goes through eager calls: each costs launches
--   and host time, and whatever waits for it splits the graph. That may be meant (gradient reduction and pipeline
--   transfers stay outside with graphs per layer); it hurts when the time is exposed.
-- fix: Capture a region that includes the calls: the whole forward and backward of all micro-batches (Megatron:
--   --cuda-graph-impl full_iteration; PyTorch: call the collective inside torch.cuda.graph after one eager warm-up
--   call on the same stream and communicator). All ranks must capture the same calls. If it must stay eager, overlap
--   it on a side stream.
-- source: NCCL user guide, using NCCL with CUDA graphs; bytes are counts times type size of this rank;
--   thresholds: pitfalls catalogue, GD501
-- message: communicator of {nranks} ranks: {ratio:.1%} of {bytes:bytes} a step move inside graphs, exposed eager time {exposed:.1%} of the step
WITH total AS (
  SELECT n.process_id, n.comm_hash, MAX(n.nranks) AS nranks,
    MIN(n.start_ns) AS start_ns, MAX(n.end_ns) AS end_ns, COUNT(*) AS steps,
    SUM(n.graph_bytes) AS graph_bytes, SUM(n.eager_bytes) AS eager_bytes,
    SUM(n.eager_ops) AS eager_ops, SUM(n.end_ns - n.start_ns) AS step_ns,
    COALESCE(SUM(n.exposed_eager_ns), 0) AS exposed_ns,
    MAX(n.eager_stack_id) AS stack_id, MAX(n.eager_thread_id) AS thread_id
  FROM nccl_step AS n WHERE n.steady AND n.known
  GROUP BY n.process_id, n.comm_hash)
SELECT t.process_id, t.start_ns, t.end_ns, t.stack_id, t.thread_id,
  t.exposed_ns AS cost_ns, t.comm_hash AS root_id, t.nranks,
  1.0 * t.graph_bytes / (t.graph_bytes + t.eager_bytes) AS ratio,
  (t.graph_bytes + t.eager_bytes) / t.steps AS bytes,
  1.0 * t.exposed_ns / t.step_ns AS exposed,
  CASE WHEN t.graph_bytes < :in_graph_min * (t.graph_bytes + t.eager_bytes)
      AND t.exposed_ns > :exposed_share * t.step_ns
    THEN 'warning' ELSE 'info' END AS severity,
  'communicator' AS ev1_label, printf('0x%x', t.comm_hash) AS ev1_value,
  'bytes in graphs' AS ev2_label, t.graph_bytes AS ev2_value,
  'bytes' AS ev2_unit,
  'bytes in eager calls' AS ev3_label, t.eager_bytes AS ev3_value,
  'bytes' AS ev3_unit, 'eager calls' AS ev4_label, t.eager_ops AS ev4_value
FROM total AS t
WHERE t.eager_bytes
  AND t.graph_bytes + t.eager_bytes >= :bytes_min * t.steps
  AND EXISTS (SELECT * FROM replay AS r WHERE r.process_id = t.process_id)
ORDER BY t.process_id, t.comm_hash;
-- test: a warning just below the share and just above the exposed time
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 795, 205, 4, 2, 55, 3);
INSERT INTO replay (process_id)
VALUES (1);
-- expect: communicator of 4 ranks: 79.5% of 1000 B a step move inside graphs, exposed eager time 5.5% of the step | severity=warning root_id=171 stack_id=3
-- test: only advice at exactly the share or exactly the exposed time, and next to them
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 80, 20, 4, 2, 100, 3),
  (2, 171, 4, 10, 1, 0, 1000, 10, 90, 4, 2, 50, 3),
  (3, 171, 4, 10, 1, 0, 1000, 805, 195, 4, 2, 100, 3),
  (4, 171, 4, 10, 1, 0, 1000, 10, 90, 4, 2, 45, 3),
  (5, 171, 4, 10, 1, 0, 1000, 10, 90, 4, 2, NULL, 3);
INSERT INTO replay (process_id)
VALUES (1),
  (2),
  (3),
  (4),
  (5);
-- expect: communicator of 4 ranks: 80.0% of 100 B a step move inside graphs, exposed eager time 10.0% of the step | severity=info
-- expect: communicator of 4 ranks: 10.0% of 100 B a step move inside graphs, exposed eager time 5.0% of the step | severity=info
-- expect: communicator of 4 ranks: 80.5% of 1000 B a step move inside graphs, exposed eager time 10.0% of the step | severity=info
-- expect: communicator of 4 ranks: 10.0% of 100 B a step move inside graphs, exposed eager time 4.5% of the step | severity=info
-- expect: communicator of 4 ranks: 10.0% of 100 B a step move inside graphs, exposed eager time 0.0% of the step | severity=info
-- test: a hundredth outside is said, and quiet when everything is inside
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 995, 5, 4, 2, 0, 3),
  (2, 171, 4, 10, 1, 0, 1000, 100, 0, 4, 2, 0, 3);
INSERT INTO replay (process_id)
VALUES (1),
  (2);
-- expect: communicator of 4 ranks: 99.5% of 1000 B a step move inside graphs, exposed eager time 0.0% of the step | process_id=1 severity=info
-- test: quiet for jobs without graphs, in warm-up, and where calls were not recorded
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, exposed_eager_ns, eager_stack_id, known)
VALUES (1, 171, 4, 10, 1, 0, 1000, 790, 210, 4, 2, 51, 3, 1),
  (2, 171, 4, 10, 0, 0, 1000, 790, 210, 4, 2, 51, 3, 1),
  (3, 171, 4, 10, 1, 0, 1000, 790, 210, 4, 2, 51, 3, 0);
INSERT INTO replay (process_id)
VALUES (2),
  (3);
-- expect: none
-- test: quiet for a handful of bytes a step, such as an agreement between ranks
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 0, 99, 4, 2, 51, 3);
INSERT INTO replay (process_id)
VALUES (1);
-- expect: none
