-- SPDX-License-Identifier: Apache-2.0
-- rule: GD406 pool-too-small
-- title: No memory for a graph, so it was never captured
-- severity: warning
-- impact: slow
-- confidence: high
-- root: step
-- needs: nvtx>=partial
-- why: A graph keeps the addresses of its capture, so its intermediates live in a pool that nothing else may use. A graph
--   manager with a pool that is too small refuses the capture and runs the region eagerly, for the whole job. No call
--   fails: the job is only slower, and one line among many says why.
-- fix: Give the pool what the manager says it needs, if the device has it. Else let graphs that never run at the same time
--   share one pool (torch.cuda.graph(g, pool=...)) and capture the largest first, keep fewer micro-batches in flight, or
--   capture a smaller scope (a layer instead of the whole step).
-- source: What the job's graph manager says in its marks: the form is in docs/recording.md. PyTorch documentation, CUDA
--   graphs: graph memory management (private pools, sharing them)
-- message: {graph} was not captured: {reason}
SELECT d.process_id, d.start_ns, d.end_ns, d.step, d.thread_id,
  0 AS root_id, d.graph, d.reason,
  'refused' AS ev1_label, counted(d.count, 'time') AS ev1_value
FROM graph_decision AS d
WHERE d.to_state = 'failed' AND NOT d.ready_after
  AND (d.reason LIKE '%pool%' OR d.reason LIKE '%memory%')
ORDER BY d.process_id, d.start_ns, d.graph;
-- test: fires for a pool and for memory, whatever the state before
INSERT INTO graph_decision (process_id, graph, from_state, to_state, reason, count, start_ns, end_ns, step)
VALUES (1, 'cycle', 'capturing', 'failed', 'the graph pool is exhausted: it needs 3 MiB and 1 MiB are free', 2, 100, 900, 3),
  (1, 'optimizer', 'instantiating', 'failed', 'out of memory', 1, 200, 200, 3);
-- expect: cycle was not captured: the graph pool is exhausted: it needs 3 MiB and 1 MiB are free | root_kind=step root_id=0 severity=warning step=3 ev1_value='2 times'
-- expect: optimizer was not captured: out of memory
-- test: quiet when it was captured later, for another reason or none, and in another state
INSERT INTO graph_decision (process_id, graph, from_state, to_state, reason, count, ready_after)
VALUES (1, 'cycle', 'capturing', 'failed', 'the pool is exhausted', 1, 1),
  (2, 'cycle', 'capturing', 'failed', 'another rank could not capture', 1, 0),
  (3, 'cycle', 'capturing', 'failed', NULL, 1, 0),
  (4, 'cycle', 'failed', 'eager-fallback', 'the pool is exhausted', 1, 0);
-- expect: none
