-- SPDX-License-Identifier: Apache-2.0
-- rule: GD408 missing-on-ranks
-- title: Only some ranks have the graph
-- severity: error
-- impact: slow
-- confidence: high
-- root: step
-- needs: eager_kernel_activity>=partial, callbacks>=partial
-- param runs_min: 3
-- why: Ranks that do the same work must capture it together. Here some captured it, while others launch the same kernels
--   one by one and never tried: their pool, their device or their branch of the code is not set up like that of the
--   first. All ranks then run as slowly as the slowest, and where they do not agree before a replay, a captured collective
--   meets an eager one and the job hangs (GD502). A usual cause: a pool or a graph object made in code that only rank 0
--   runs, or on the default device instead of the rank's own.
-- fix: Make pool, streams and graphs on every rank, after torch.cuda.set_device(local_rank) or its like. Take the decision
--   to capture from what is equal on all ranks (configuration, step number), never from the rank. Let all ranks agree
--   (one small all-reduce) before a capture is used.
-- source: NCCL user guide, CUDA graphs: whether a collective is captured is a decision of all its ranks;
--   NVIDIA/Megatron-LM, one graph runner for each layer on each rank. Graphs are recognised by the names of their kernels
-- message: {graph}: captured on {captured_by} of {ranks}, first on {rank}; {others} launched its kernels one by one {eager_runs:count time} and never captured them, {use}
WITH missing AS (
  SELECT g.process_id, g.capture_id, COUNT(*) AS missing,
    MIN(COALESCE(p.rank, g.other_process_id)) AS first_missing,
    MIN(p.rank IS NOT NULL) AS ranked,
    SUM(g.eager_runs) AS eager_runs, MAX(d.reason) AS reason
  FROM rank_graph AS g
  JOIN process AS p ON p.process_id = g.other_process_id
  LEFT JOIN graph_decision AS d ON d.process_id = g.other_process_id
    AND d.to_state = 'failed' AND NOT d.ready_after
  WHERE g.known AND g.eager_runs >= :runs_min
  GROUP BY g.process_id, g.capture_id
)
SELECT g.process_id, g.start_ns, g.end_ns, g.step, g.thread_id, g.stack_id,
  0 AS root_id, g.graph_name AS graph, g.captured_by,
  CASE WHEN p.rank IS NULL OR NOT m.ranked
    THEN (g.captured_by + m.missing) || ' processes'
    ELSE counted(g.captured_by + m.missing, 'rank') END AS ranks,
  CASE WHEN p.rank IS NULL THEN 'process ' || g.process_id
    ELSE 'rank ' || p.rank END AS rank,
  CASE WHEN m.missing = 1
      THEN CASE WHEN m.ranked THEN 'rank ' ELSE 'process ' END || m.first_missing
    WHEN m.ranked THEN m.missing || ' ranks'
    ELSE m.missing || ' processes' END AS others,
  m.eager_runs,
  CASE g.replays WHEN 0 THEN 'and where it exists it is not used either'
      ELSE 'while it was replayed ' || counted(g.replays, 'time') END AS use,
  'capture' AS evidence_table, g.capture_id AS evidence_id,
  'kernels of the graph' AS ev1_label, g.kernels AS ev1_value,
  CASE WHEN m.ranked THEN 'first rank without it'
    ELSE 'first process without it' END AS ev2_label,
  m.first_missing AS ev2_value,
  'what its graph manager said' AS ev3_label, m.reason AS ev3_value
FROM rank_graph AS g
JOIN missing AS m USING (process_id, capture_id)
JOIN process AS p ON p.process_id = g.process_id
GROUP BY g.process_id, g.capture_id
ORDER BY g.process_id, g.capture_id;
-- test: fires at the least number of runs, and names the rank and its reason
INSERT INTO process (process_id, rank) VALUES (1, 4), (2, 5);
INSERT INTO rank_graph (process_id, capture_id, graph_name, kernels, captured_by, replays, other_process_id, eager_runs,
  start_ns, end_ns, stack_id)
VALUES (1, 3, 'cycle', 40, 1, 0, 2, 3, 100, 200, 8);
INSERT INTO graph_decision (process_id, graph, from_state, to_state, reason, ready_after)
VALUES (2, 'cycle', 'capturing', 'failed', 'no pool', 0), (2, 'optimizer', 'capturing', 'failed', 'slow', 1),
  (2, 'optimizer', 'failed', 'ready', 'recovered', 0);
-- expect: cycle: captured on 1 of 2 ranks, first on rank 4; rank 5 launched its kernels one by one 3 times and never captured them, and where it exists it is not used either | root_kind=step root_id=0 stack_id=8 severity=error ev2_value=5 ev3_value='no pool'
-- test: one finding for all ranks that lack it; without ranks the processes are named
INSERT INTO process (process_id, rank) VALUES (1, NULL), (2, NULL), (3, NULL), (4, NULL);
INSERT INTO rank_graph (process_id, capture_id, graph_name, kernels, captured_by, replays, other_process_id, eager_runs)
VALUES (1, 3, 'cycle', 40, 2, 90, 3, 30), (1, 3, 'cycle', 40, 2, 90, 4, 31);
-- expect: cycle: captured on 2 of 4 processes, first on process 1; 2 processes launched its kernels one by one 61 times and never captured them, while it was replayed 90 times | ev2_value=3 ev2_label='first process without it' ev3_value=null
-- test: quiet after two runs, and where launches were not recorded
INSERT INTO process (process_id, rank) VALUES (1, 0), (2, 1);
INSERT INTO rank_graph (process_id, capture_id, graph_name, kernels, captured_by, replays, other_process_id, eager_runs,
  known)
VALUES (1, 3, 'cycle', 40, 1, 0, 2, 2, 1), (1, 4, 'optimizer', 7, 1, 0, 2, 30, 0);
-- expect: none
-- test: two ranks lack it; one process of which the rank is not known
INSERT INTO process (process_id, rank) VALUES (1, 0), (2, 1), (3, 2), (4, 0), (5, NULL);
INSERT INTO rank_graph (process_id, capture_id, graph_name, kernels, captured_by, replays, other_process_id, eager_runs)
VALUES (1, 3, 'cycle', 40, 1, 90, 2, 30), (1, 3, 'cycle', 40, 1, 90, 3, 31), (4, 3, 'cycle', 40, 1, 90, 5, 31);
-- expect: cycle: captured on 1 of 3 ranks, first on rank 0; 2 ranks launched its kernels one by one 61 times and never captured them, while it was replayed 90 times | ev2_value=1 ev2_label='first rank without it'
-- expect: cycle: captured on 1 of 2 processes, first on rank 0; process 5 launched its kernels one by one 31 times and never captured them, while it was replayed 90 times | ev2_value=5
