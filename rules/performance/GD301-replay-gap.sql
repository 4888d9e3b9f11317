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
--   waited for an event or for communication. Time in which a launched replay waits for nothing of its own job, such as
--   its turn beside other processes on the device, does not count.
-- fix: Launch ahead: no synchronise, no .item(), no Python work between replays (GD302 names the call). Prepare
--   inputs with pinned memory and a side stream while the last replay runs (data), keep parameters on the device
--   instead of updating the graph (exec_update), capture a larger region so that one launch replaces several
--   (launch_call), balance the ranks (nccl, peer).
-- source: CUDA programming guide, graphs; the threshold of 500 us is this project's default
-- message: {graph}: {count:count gap} of {gap_us} us or more before its replays, {total_ns:ns} in all, {share:.1%} of steady state, mostly {cause}{detail}
WITH gap AS MATERIALIZED (
  SELECT g.rowid AS row, g.process_id, g.device_id, g.exec_id,
    CASE WHEN g.cause <> 'unknown' THEN g.cause
      ELSE CASE MAX(g.host_sync_ns, g.exec_update_ns, g.data_ns, g.host_other_ns,
          g.launch_call_ns, g.event_ns, g.peer_ns, g.nccl_ns)
        WHEN g.host_sync_ns THEN 'host_sync' WHEN g.exec_update_ns THEN 'exec_update'
        WHEN g.data_ns THEN 'data' WHEN g.host_other_ns THEN 'host_other'
        WHEN g.launch_call_ns THEN 'launch_call' WHEN g.event_ns THEN 'event'
        WHEN g.peer_ns THEN 'peer' ELSE 'nccl' END
      END AS cause,
    g.cause_detail, g.step, g.replay_id, g.graph_name, g.start_ns, g.end_ns, g.eager_recorded,
    g.end_ns - g.start_ns - g.unknown_ns AS len
  FROM replay_gap AS g
  WHERE g.same_step AND g.steady AND g.known
    AND g.end_ns - g.start_ns - g.unknown_ns >= :gap_us * 1e3
    AND g.end_ns - g.start_ns - g.unknown_ns > g.noise_ns),
late AS (
  SELECT gap.process_id, gap.device_id, s.end_ns - s.start_ns AS steady_ns
  FROM gap JOIN steady_state AS s USING (process_id)
  WHERE s.steps >= :steps_min
  GROUP BY gap.process_id, gap.device_id
  HAVING SUM(gap.len) > :share_min * (s.end_ns - s.start_ns)),
ranked AS (
  SELECT g.row, g.cause, g.len, ROW_NUMBER() OVER
      (PARTITION BY g.process_id, g.device_id, g.exec_id, g.cause
      ORDER BY g.len DESC, g.replay_id) AS place
  FROM gap AS g JOIN late USING (process_id, device_id)),
longest AS (
  SELECT g.process_id, g.device_id, g.exec_id, r.cause, g.stack_id, g.thread_id,
    g.replay_id, r.place,
    group_concat(printf('step %d: %.2f ms', g.step, r.len / 1e6),
      ', ') OVER (PARTITION BY g.process_id, g.device_id, g.exec_id, r.cause
      ORDER BY r.place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS gaps
  FROM ranked AS r CROSS JOIN replay_gap AS g ON g.rowid = r.row
  WHERE r.place <= 5),
grouped AS (
  SELECT g.process_id, g.device_id, g.exec_id, g.cause,
    MIN(g.start_ns) AS start_ns, MAX(g.end_ns) AS end_ns, SUM(g.len) AS total_ns,
    COUNT(*) AS count, g.graph_name, MAX(g.cause_detail) AS detail,
    SUM(g.len) * 1.0 / late.steady_ns AS share,
    MIN(g.eager_recorded) AS eager_recorded, median(g.len) AS median_ns,
    COUNT(DISTINCT g.step) AS steps
  FROM gap AS g JOIN late USING (process_id, device_id)
  GROUP BY g.process_id, g.device_id, g.exec_id, g.cause)
SELECT g.process_id, g.start_ns, g.end_ns, g.total_ns AS cost_ns, g.total_ns,
  g.count, g.graph_name AS graph, g.cause,
  COALESCE(' (' || g.detail || ')', '') AS detail, :gap_us AS gap_us, g.share,
  l.stack_id, l.thread_id,
  CASE WHEN g.eager_recorded THEN 'high' ELSE 'low' END AS confidence,
  'replay' AS evidence_table, l.replay_id AS evidence_id,
  'longest gaps' AS ev1_label, l.gaps AS ev1_value,
  'median gap' AS ev2_label, CAST(g.median_ns AS INTEGER) AS ev2_value,
  'ns' AS ev2_unit,
  'steps concerned' AS ev3_label, g.steps AS ev3_value,
  'eager work in the gaps' AS ev4_label,
  CASE WHEN g.eager_recorded THEN NULL ELSE 'not recorded' END AS ev4_value
FROM grouped AS g
JOIN longest AS l USING (process_id, device_id, exec_id, cause)
WHERE l.place = 1
ORDER BY g.process_id, g.exec_id, g.cause;
-- test: names the five longest gaps in order, of equals the first replay first
INSERT INTO steady_state (process_id, steps, start_ns, end_ns) VALUES (1, 20, 0, 20000000);
INSERT INTO replay_gap (process_id, exec_id, replay_id, step, steady, same_step, start_ns, end_ns,
  graph_name, cause, host_other_ns, stack_id, thread_id)
VALUES (1, 2, 7, 1, 1, 1, 0, 600000, 'cycle', 'host_other', 600000, 1, 11),
  (1, 2, 6, 2, 1, 1, 0, 700000, 'cycle', 'host_other', 700000, 2, 12),
  (1, 2, 5, 3, 1, 1, 0, 800000, 'cycle', 'host_other', 800000, 3, 13),
  (1, 2, 4, 4, 1, 1, 0, 900000, 'cycle', 'host_other', 900000, 4, 14),
  (1, 2, 3, 5, 1, 1, 0, 900000, 'cycle', 'host_other', 900000, 5, 15),
  (1, 2, 2, 6, 1, 1, 0, 510000, 'cycle', 'host_other', 510000, 6, 16);
-- expect: cycle: 6 gaps of 500 us or more before its replays, 4.41 ms in all, 22.1% of steady state, mostly host_other | stack_id=5 thread_id=15 evidence_id=3 ev1_value='step 5: 0.90 ms, step 4: 0.90 ms, step 3: 0.80 ms, step 2: 0.70 ms, step 1: 0.60 ms'
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
-- test: time that nothing of the job explains does not count, and the cause is the largest of the rest
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 20), (2, 0, 10000000, 20), (3, 0, 10000000, 20), (4, 0, 10000000, 20);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded, unknown_ns, host_other_ns, launch_call_ns, noise_ns)
VALUES (1, 1, 0, 4, 2, 'cycle', 7, 1, 0, 900000, 'unknown', 1, 900000, 0, 0, 0),
  (1, 2, 0, 4, 2, 'cycle', 7, 1, 0, 1100000, 'unknown', 1, 560000, 500000, 40000, 0),
  (1, 3, 0, 4, 2, 'cycle', 7, 1, 0, 1100000, 'host_other', 1, 600001, 499999, 0, 0),
  (1, 4, 0, 4, 2, 'cycle', 7, 1, 0, 1100000, 'host_other', 1, 100000, 1000000, 0, 1000000);
-- expect: cycle: 1 gap of 500 us or more before its replays, 540 us in all, 5.4% of steady state, mostly host_other | process_id=2 cost_ns=540000 ev1_value='step 7: 0.54 ms'
-- test: without a known cause, names the largest part of any kind
INSERT INTO steady_state (process_id, start_ns, end_ns, steps) VALUES (1, 0, 10000000, 20);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step,
  steady, start_ns, end_ns, cause, eager_recorded, unknown_ns, host_sync_ns, exec_update_ns, data_ns, host_other_ns,
  launch_call_ns, event_ns, peer_ns, nccl_ns)
VALUES (1, 1, 1, 2, 'g', 7, 1, 0, 1100000, 'unknown', 1, 600000, 500000, 0, 0, 0, 0, 0, 0, 0),
  (1, 1, 2, 2, 'g', 7, 1, 0, 1100000, 'unknown', 1, 600000, 0, 500000, 0, 0, 0, 0, 0, 0),
  (1, 1, 3, 2, 'g', 7, 1, 0, 1100000, 'unknown', 1, 600000, 0, 0, 500000, 0, 0, 0, 0, 0),
  (1, 1, 4, 2, 'g', 7, 1, 0, 1100000, 'unknown', 1, 600000, 0, 0, 0, 500000, 0, 0, 0, 0),
  (1, 1, 5, 2, 'g', 7, 1, 0, 1100000, 'unknown', 1, 600000, 0, 0, 0, 0, 500000, 0, 0, 0),
  (1, 1, 6, 2, 'g', 7, 1, 0, 1100000, 'unknown', 1, 600000, 0, 0, 0, 0, 0, 500000, 0, 0),
  (1, 1, 7, 2, 'g', 7, 1, 0, 1100000, 'unknown', 1, 600000, 0, 0, 0, 0, 0, 0, 500000, 0),
  (1, 1, 8, 2, 'g', 7, 1, 0, 1100000, 'unknown', 1, 600000, 0, 0, 0, 0, 0, 0, 0, 500000);
-- expect: g: 1 gap of 500 us or more before its replays, 500 us in all, 5.0% of steady state, mostly host_sync
-- expect: g: 1 gap of 500 us or more before its replays, 500 us in all, 5.0% of steady state, mostly exec_update
-- expect: g: 1 gap of 500 us or more before its replays, 500 us in all, 5.0% of steady state, mostly data
-- expect: g: 1 gap of 500 us or more before its replays, 500 us in all, 5.0% of steady state, mostly host_other
-- expect: g: 1 gap of 500 us or more before its replays, 500 us in all, 5.0% of steady state, mostly launch_call
-- expect: g: 1 gap of 500 us or more before its replays, 500 us in all, 5.0% of steady state, mostly event
-- expect: g: 1 gap of 500 us or more before its replays, 500 us in all, 5.0% of steady state, mostly peer
-- expect: g: 1 gap of 500 us or more before its replays, 500 us in all, 5.0% of steady state, mostly nccl
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
