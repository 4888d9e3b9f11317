-- SPDX-License-Identifier: Apache-2.0
-- rule: GD301 replay-gap
-- title: GPU idles between replays of a step
-- severity: warning
-- impact: slow
-- confidence: high
-- root: step
-- needs: graph_trace|node_activity>=partial, callbacks>=partial
-- param gap_us: 500
-- param share_min: 0.05
-- param steps_min: 20
-- why: Between two replays of one step the device had nothing to do. It is not the graphs that are slow but
--   what lies between them: the host launched late, updated or instantiated graphs, copied data, or the device
--   waited for an event or for communication.
-- fix: Launch ahead: no synchronise, no .item(), no Python work between replays (GD302 names the call). Prepare
--   inputs with pinned memory and a side stream while the last replay runs (data), keep parameters on the device
--   instead of updating the graph (exec_update), capture a larger region so that one launch replaces several
--   (launch_call), balance the ranks (nccl, peer).
-- source: CUDA programming guide, graphs; the threshold of 500 us is this project's default
-- message: {graph}: {count:count gap} of {gap_us} us or more before its replays, {total_ns:ns} in all, {share:.1%} of steady state, mostly {cause}{detail}
WITH gap AS (
  SELECT g.*, g.end_ns - g.start_ns AS len
  FROM replay_gap AS g
  WHERE g.same_step AND g.steady AND g.known
    AND g.end_ns - g.start_ns >= :gap_us * 1e3
    AND g.end_ns - g.start_ns > g.noise_ns),
late AS (
  SELECT gap.process_id, gap.device_id, s.end_ns - s.start_ns AS steady_ns
  FROM gap JOIN steady_state AS s USING (process_id)
  WHERE s.steps >= :steps_min
  GROUP BY gap.process_id, gap.device_id
  HAVING SUM(gap.len) > :share_min * (s.end_ns - s.start_ns))
SELECT g.process_id, MIN(g.start_ns) AS start_ns, MAX(g.end_ns) AS end_ns,
  SUM(g.len) AS cost_ns, SUM(g.len) AS total_ns, COUNT(*) AS count,
  g.graph_name AS graph, g.cause,
  COALESCE(' (' || MAX(g.cause_detail) || ')', '') AS detail, :gap_us AS gap_us,
  SUM(g.len) * 1.0 / late.steady_ns AS share,
  (SELECT w.stack_id FROM gap AS w
    WHERE w.process_id = g.process_id AND w.exec_id = g.exec_id
      AND w.cause = g.cause ORDER BY w.len DESC, w.replay_id LIMIT 1) AS stack_id,
  (SELECT w.thread_id FROM gap AS w
    WHERE w.process_id = g.process_id AND w.exec_id = g.exec_id
      AND w.cause = g.cause ORDER BY w.len DESC, w.replay_id LIMIT 1) AS thread_id,
  CASE WHEN MIN(g.eager_recorded) THEN 'high' ELSE 'low' END AS confidence,
  'replay' AS evidence_table,
  (SELECT w.replay_id FROM gap AS w
    WHERE w.process_id = g.process_id AND w.exec_id = g.exec_id
      AND w.cause = g.cause ORDER BY w.len DESC, w.replay_id LIMIT 1)
    AS evidence_id,
  'longest gaps' AS ev1_label,
  (SELECT group_concat(printf('step %d: %.2f ms', t.step, t.len / 1e6), ', ')
    FROM (SELECT w.step, w.len FROM gap AS w
      WHERE w.process_id = g.process_id AND w.exec_id = g.exec_id
        AND w.cause = g.cause ORDER BY w.len DESC, w.replay_id LIMIT 5) AS t)
    AS ev1_value,
  'median gap' AS ev2_label, CAST(median(g.len) AS INTEGER) AS ev2_value,
  'ns' AS ev2_unit,
  'steps concerned' AS ev3_label, COUNT(DISTINCT g.step) AS ev3_value,
  'eager work in the gaps' AS ev4_label,
  CASE WHEN MIN(g.eager_recorded) THEN NULL ELSE 'not recorded' END AS ev4_value
FROM gap AS g JOIN late USING (process_id, device_id)
GROUP BY g.process_id, g.device_id, g.exec_id, g.cause
ORDER BY g.process_id, g.exec_id, g.cause;
-- test: fires at exactly the gap and just above the share
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 19999999, 20);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded)
VALUES (1, 1, 0, 4, 2, 'cycle', 7, 1, 1000, 501000, 'host_other', 1),
  (1, 1, 0, 4, 3, 'cycle', 8, 1, 2000, 502000, 'host_other', 1);
-- expect: cycle: 2 gaps of 500 us or more before its replays, 1.00 ms in all, 5.0% of steady state, mostly host_other | cost_ns=1000000 confidence=high ev1_value='step 7: 0.50 ms, step 8: 0.50 ms'
-- test: one row for each executable and cause, shares summed over the device
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 29999999, 20);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, cause_detail, eager_recorded)
VALUES (1, 1, 0, 4, 2, 'cycle', 7, 1, 0, 500000, 'host_other', NULL, 1),
  (1, 1, 0, 5, 3, 'optimizer', 8, 1, 0, 500000, 'data', 'cuMemcpyAsync', 1),
  (1, 1, 0, 4, 5, 'cycle', 9, 1, 0, 500000, 'data', NULL, 0);
-- expect: cycle: 1 gap of 500 us or more before its replays, 500 us in all, 1.7% of steady state, mostly data | confidence=low
-- expect: cycle: 1 gap of 500 us or more before its replays, 500 us in all, 1.7% of steady state, mostly host_other
-- expect: optimizer: 1 gap of 500 us or more before its replays, 500 us in all, 1.7% of steady state, mostly data (cuMemcpyAsync)
-- test: quiet at exactly the share
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 20000000, 20);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded)
VALUES (1, 1, 0, 4, 2, 'cycle', 7, 1, 1000, 501000, 'host_other', 1),
  (1, 1, 0, 4, 3, 'cycle', 8, 1, 2000, 502000, 'host_other', 1);
-- expect: none
-- test: a share just above the threshold fires, and just below is quiet
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000000, 20);
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (2, 0, 1000000000, 20);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded)
VALUES (1, 1, 0, 4, 2, 'cycle', 7, 1, 0, 55000000, 'host_other', 1),
  (1, 2, 0, 4, 3, 'cycle', 8, 1, 0, 45000000, 'host_other', 1);
-- expect: cycle: 1 gap of 500 us or more before its replays, 55.0 ms in all, 5.5% of steady state, mostly host_other | process_id=1
-- test: quiet with gaps just too short, in warm-up, or not known
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 20);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded, known)
VALUES (1, 1, 0, 4, 2, 'cycle', 7, 1, 0, 499999, 'host_other', 1, 1),
  (1, 1, 0, 4, 3, 'cycle', 1, 0, 0, 900000, 'host_other', 1, 1),
  (1, 1, 0, 4, 4, 'cycle', 9, 1, 0, 900000, 'host_other', 1, 0);
-- expect: none
-- test: quiet between replays of two steps
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 20);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded)
VALUES (0, 1, 0, 4, 2, 'cycle', 7, 1, 0, 900000, 'host_other', 1);
-- expect: none
-- test: quiet with too few steady steps
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 19);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded)
VALUES (1, 1, 0, 4, 2, 'cycle', 7, 1, 0, 900000, 'host_other', 1);
-- expect: none
-- test: quiet on a busy machine: gaps no longer than its scheduling noise
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 20);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded, noise_ns)
VALUES (1, 1, 0, 4, 2, 'cycle', 7, 1, 0, 900000, 'host_other', 1, 900000);
-- expect: none
