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
--   and host time, and whatever waits for it splits the graph. That may be meant: gradient reduction (collectives
--   after the last graph of a step) and pipeline transfers (sends and receives) stay outside with graphs per layer,
--   and are only mentioned. Collectives between the graphs of a step, as those of tensor parallelism, hurt when their
--   time is exposed.
-- fix: Capture a region that includes the calls: the whole forward and backward of all micro-batches (Megatron:
--   --cuda-graph-impl full_iteration; PyTorch: call the collective inside torch.cuda.graph after one eager warm-up
--   call on the same stream and communicator). All ranks must capture the same calls. If it must stay eager, overlap
--   it on a side stream.
-- source: NCCL user guide, using NCCL with CUDA graphs; bytes are counts times type size of this rank;
--   the thresholds are this project's defaults
-- message: communicator of {nranks:count rank}: {ratio:.1%} of {bytes:bytes} a step move inside graphs{calls}, exposed eager time {exposed}
WITH total AS (
  SELECT n.process_id, n.comm_hash, MAX(n.nranks) AS nranks,
    MIN(n.start_ns) AS start_ns, MAX(n.end_ns) AS end_ns, COUNT(*) AS steps,
    SUM(n.graph_bytes) AS graph_bytes, SUM(n.eager_bytes) AS eager_bytes,
    SUM(n.eager_ops) AS eager_ops,
    SUM(n.eager_kind = 'between_graphs') AS between_steps,
    SUM(n.eager_kind = 'after_graphs') AS after_steps,
    SUM(n.exposed_eager_ns) AS exposed_ns,
    SUM(CASE WHEN n.exposed_eager_ns IS NOT NULL
      THEN n.end_ns - n.start_ns END) AS measured_ns,
    MAX(n.eager_stack_id) AS stack_id, MAX(n.eager_thread_id) AS thread_id
  FROM nccl_step AS n WHERE n.steady AND n.known
  GROUP BY n.process_id, n.comm_hash)
SELECT t.process_id, t.start_ns, t.end_ns, t.stack_id, t.thread_id,
  t.exposed_ns AS cost_ns, t.comm_hash AS root_id, t.nranks,
  1.0 * t.graph_bytes / (t.graph_bytes + t.eager_bytes) AS ratio,
  (t.graph_bytes + t.eager_bytes) / t.steps AS bytes,
  CASE WHEN t.between_steps THEN ', eager collectives lie between them'
    WHEN t.after_steps THEN ', eager collectives follow the last one'
    ELSE ', eager are sends and receives' END AS calls,
  CASE WHEN t.measured_ns IS NULL THEN 'was not measured'
    ELSE printf('%.1f%% of the step', 100.0 * t.exposed_ns / t.measured_ns)
    END AS exposed,
  CASE WHEN t.graph_bytes < :in_graph_min * (t.graph_bytes + t.eager_bytes)
      AND t.between_steps AND t.exposed_ns > :exposed_share * t.measured_ns
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
  eager_bytes, graph_ops, eager_ops, eager_kind, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 795, 205, 4, 2, 'between_graphs', 55, 3);
INSERT INTO replay (process_id)
VALUES (1);
-- expect: communicator of 4 ranks: 79.5% of 1000 B a step move inside graphs, eager collectives lie between them, exposed eager time 5.5% of the step | severity=warning root_id=171 stack_id=3 cost_ns=55
-- test: a warning also when one step of several holds such calls and some are not measured
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, eager_kind, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 100, 900, 4, 2, 'between_graphs', 60, 3),
  (1, 171, 4, 11, 1, 1000, 2000, 100, 900, 4, 2, 'after_graphs', NULL, 3);
INSERT INTO replay (process_id)
VALUES (1);
-- expect: communicator of 4 ranks: 10.0% of 1000 B a step move inside graphs, eager collectives lie between them, exposed eager time 6.0% of the step | severity=warning
-- test: gradient reduction after the graphs and pipeline transfers are only mentioned
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, eager_kind, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 0, 1000, 0, 2, 'after_graphs', 300, 3),
  (1, 171, 4, 11, 1, 1000, 2000, 0, 1000, 0, 2, 'point_to_point', 300, 3),
  (2, 171, 4, 10, 1, 0, 1000, 0, 1000, 0, 2, 'point_to_point', 300, 3);
INSERT INTO replay (process_id)
VALUES (1),
  (2);
-- expect: communicator of 4 ranks: 0.0% of 1000 B a step move inside graphs, eager collectives follow the last one, exposed eager time 30.0% of the step | severity=info
-- expect: communicator of 4 ranks: 0.0% of 1000 B a step move inside graphs, eager are sends and receives, exposed eager time 30.0% of the step | severity=info
-- test: only advice at exactly the share or exactly the exposed time, next to them, and where the time was not measured
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, eager_kind, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 80, 20, 4, 2, 'between_graphs', 100, 3),
  (2, 171, 4, 10, 1, 0, 1000, 10, 90, 4, 2, 'between_graphs', 50, 3),
  (3, 171, 4, 10, 1, 0, 1000, 805, 195, 4, 2, 'between_graphs', 100, 3),
  (4, 171, 4, 10, 1, 0, 1000, 10, 90, 4, 2, 'between_graphs', 45, 3),
  (5, 171, 4, 10, 1, 0, 1000, 10, 90, 4, 2, 'between_graphs', NULL, 3);
INSERT INTO replay (process_id)
VALUES (1),
  (2),
  (3),
  (4),
  (5);
-- expect: communicator of 4 ranks: 80.0% of 100 B a step move inside graphs, eager collectives lie between them, exposed eager time 10.0% of the step | severity=info
-- expect: communicator of 4 ranks: 10.0% of 100 B a step move inside graphs, eager collectives lie between them, exposed eager time 5.0% of the step | severity=info
-- expect: communicator of 4 ranks: 80.5% of 1000 B a step move inside graphs, eager collectives lie between them, exposed eager time 10.0% of the step | severity=info
-- expect: communicator of 4 ranks: 10.0% of 100 B a step move inside graphs, eager collectives lie between them, exposed eager time 4.5% of the step | severity=info
-- expect: communicator of 4 ranks: 10.0% of 100 B a step move inside graphs, eager collectives lie between them, exposed eager time was not measured | severity=info cost_ns=null
-- test: a hundredth outside is said, and quiet when everything is inside
INSERT INTO nccl_step (process_id, comm_hash, nranks, step, steady, start_ns, end_ns, graph_bytes,
  eager_bytes, graph_ops, eager_ops, eager_kind, exposed_eager_ns, eager_stack_id)
VALUES (1, 171, 4, 10, 1, 0, 1000, 995, 5, 4, 2, 'after_graphs', 0, 3),
  (2, 171, 4, 10, 1, 0, 1000, 100, 0, 4, 2, 'none', 0, 3);
INSERT INTO replay (process_id)
VALUES (1),
  (2);
-- expect: communicator of 4 ranks: 99.5% of 1000 B a step move inside graphs, eager collectives follow the last one, exposed eager time 0.0% of the step | process_id=1 severity=info
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
