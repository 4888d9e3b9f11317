-- SPDX-License-Identifier: Apache-2.0
-- rule: GD306 silent-fallback
-- title: A region that has a graph runs as single launches again
-- severity: warning
-- impact: slow
-- confidence: high
-- root: step
-- needs: eager_kernel_activity>=partial, callbacks>=partial
-- param fallback_warn: 0.05
-- param fallback_critical: 0.31
-- param runs_min: 3
-- why: The same kernels that a graph holds were launched one by one, although an executable graph of the region
--   exists or its capture had failed before. Nothing says so: the job is only slower. Usual reasons: more shapes
--   than the cache keeps graphs for, a capture or update that failed once and was never tried again, a shape that
--   was never captured. Where the steps in question replay the region as often as others do, nothing fell back: other
--   work, such as an evaluation, has no graphs, which is only mentioned.
-- fix: Raise the number of graphs the cache may hold, or pad and bucket inputs to fewer shapes (torch.compile:
--   dynamic=False, cudagraph_skip_dynamic_graphs, torch._inductor.config.triton.cudagraph_dynamic_shape_warn_limit;
--   Megatron: fixed micro-batch and sequence length). Fix the failed capture if one is named. Count and log
--   fallbacks so that the next one is seen.
-- source: The thresholds 0.05 and 0.31 are this project's defaults; regions are recognised by their kernels,
--   see docs/vital-signs.md
-- message: {region}: {eager_runs} of {runs:count run} went out as single launches ({rate:.0%}), steps {first_step} to {last_step}: {detail}
SELECT f.process_id, f.start_ns, f.end_ns, f.cost_ns, f.first_step AS step,
  f.thread_id, f.stack_id, f.region, f.eager_runs,
  f.eager_runs + f.graph_runs AS runs, f.rate, f.first_step, f.last_step,
  COALESCE(f.reason_detail, f.reason) AS detail, f.reason,
  CASE WHEN f.reason = 'beside' THEN 'info'
    WHEN f.rate >= :fallback_critical THEN 'error' ELSE 'warning' END
    AS severity,
  CASE WHEN f.execs THEN 'high' ELSE 'medium' END AS confidence,
  CASE WHEN f.capture_id IS NULL THEN 'step' ELSE 'capture' END AS root_kind,
  COALESCE(c.root_capture_id, f.capture_id, 0) AS root_id,
  'reason' AS ev1_label, f.reason AS ev1_value,
  'executables of the region' AS ev2_label, f.execs AS ev2_value,
  'a run without the graph, median' AS ev3_label, f.eager_median_ns AS ev3_value,
  'ns' AS ev3_unit,
  'a replay, median' AS ev4_label, f.graph_median_ns AS ev4_value,
  'ns' AS ev4_unit
FROM fallback AS f
LEFT JOIN capture_outcome AS c USING (process_id, capture_id)
WHERE f.known AND f.rate > :fallback_warn AND f.eager_runs >= :runs_min
ORDER BY f.process_id, f.start_ns, f.region;
-- test: fires just above the threshold with the fewest runs
INSERT INTO fallback (process_id, region, eager_runs, graph_runs, rate, execs, reason,
  reason_detail, first_step, last_step, capture_id, cost_ns, stack_id)
VALUES (1, 'step/cycle', 3, 90, 0.06, 2, 'limit', '2 executable graphs exist', 5, 44, NULL, 7000, 3);
-- expect: step/cycle: 3 of 93 runs went out as single launches (6%), steps 5 to 44: 2 executable graphs exist | severity=warning root_kind=step root_id=0 cost_ns=7000 confidence=high
-- test: an error at exactly the second threshold
INSERT INTO fallback (process_id, region, eager_runs, graph_runs, rate, execs, reason,
  reason_detail, first_step, last_step, capture_id, cost_ns, stack_id)
VALUES (1, 'step/cycle', 10, 90, 0.31, 2, 'limit', '2 executable graphs exist', 5, 44, NULL, 7000, 3),
  (2, 'step/cycle', 10, 90, 0.305, 2, 'limit', '2 executable graphs exist', 5, 44, NULL, 7000, 3);
-- expect: step/cycle: 10 of 100 runs went out as single launches (31%), steps 5 to 44: 2 executable graphs exist | severity=error
-- expect: step/cycle: 10 of 100 runs went out as single launches (30%), steps 5 to 44: 2 executable graphs exist | severity=warning
-- test: hangs on the capture that failed, and is less sure without any executable
INSERT INTO fallback (process_id, region, eager_runs, graph_runs, rate, reason, reason_detail,
  first_step, last_step, capture_id, cost_ns, stack_id)
VALUES (1, 'step/cycle', 10, 90, 0.06, 'capture_failed', 'its capture had failed before', 5, 44, 4, 7000, 3);
-- expect: step/cycle: 10 of 100 runs went out as single launches (6%), steps 5 to 44: its capture had failed before | root_kind=capture root_id=4 confidence=medium
-- test: hangs on the first of several attempts that failed alike
INSERT INTO fallback (process_id, region, eager_runs, graph_runs, rate, execs, reason,
  reason_detail, first_step, last_step, capture_id, cost_ns, stack_id)
VALUES (1, 'step/cycle', 10, 90, 0.06, 2, 'limit', '2 executable graphs exist', 5, 44, 6, 7000, 3);
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id)
VALUES (1, 6, 2);
-- expect: step/cycle: 10 of 100 runs went out as single launches (6%), steps 5 to 44: 2 executable graphs exist | root_kind=capture root_id=2
-- test: quiet at exactly the threshold, with too few runs, and where launches were not recorded
INSERT INTO fallback (process_id, region, eager_runs, graph_runs, rate, execs, reason,
  reason_detail, first_step, last_step, capture_id, cost_ns, stack_id, known)
VALUES (1, 'step/cycle', 10, 90, 0.05, 2, 'limit', '2 executable graphs exist', 5, 44, NULL, 7000, 3, 1),
  (2, 'step/cycle', 2, 90, 0.06, 2, 'limit', '2 executable graphs exist', 5, 44, NULL, 7000, 3, 1),
  (3, 'step/cycle', 10, 90, 0.06, 2, 'limit', '2 executable graphs exist', 5, 44, NULL, 7000, 3, 0);
-- expect: none
-- test: a phase beside the usual replays is only mentioned
INSERT INTO fallback (process_id, region, eager_runs, graph_runs, rate, execs, reason,
  reason_detail, first_step, last_step, capture_id, cost_ns, stack_id)
VALUES (1, 'graph 41', 240, 464, 0.34, 8, 'beside', 'an evaluation', 5, 44, NULL, 7000, 3);
-- expect: graph 41: 240 of 704 runs went out as single launches (34%), steps 5 to 44: an evaluation | severity=info
