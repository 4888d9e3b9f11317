-- SPDX-License-Identifier: Apache-2.0
-- rule: GD303 irregular-replays
-- title: Replays come at irregular intervals
-- severity: warning
-- impact: slow
-- confidence: medium
-- root: step
-- needs: callbacks>=partial, graph_trace|node_activity>=partial
-- param cv_max: 0.30
-- param spread_max: 0.30
-- param idle_share_max: 0.15
-- param intervals_min: 20
-- param regular_ms_min: 50
-- param swing_max: 0.30
-- param steps_min: 20
-- param busy_low: 0.40
-- why: The same graph is launched once a step, yet the time between launches varies a lot, and so does the time
--   in which the device is idle: something holds the host up now and then (garbage collection, the data loader,
--   another process on its cores, a straggling rank). In a distributed job each rank's delay becomes everybody's.
--   A device that is idle most of the time (GD304) has a greater trouble than that it varies.
--   Time in which a replay that had been launched in time waits for its turn beside other processes does not count, and
--   a loop that is over after 50 ms says nothing.
-- fix: Find what the host does before the late launches (the stack and the timeline show the launch):
--   gc.disable() or gc.freeze() inside the loop, prefetching loaders, threads pinned away from the launching core
--   (taskset, OMP_NUM_THREADS), logging and checkpoints off the critical path. Queue several steps ahead so that the
--   device never sees a short delay.
-- source: The thresholds of 30 % are this project's defaults; intervals are taken at the same
--   position of neighbouring steps with the same graphs in between
-- message: {subject}: {what}
WITH part AS (
  SELECT b.process_id, b.device_id, b.start_ns, b.end_ns, b.busy_ns, b.noise_ns,
    MAX(1, b.end_ns - b.start_ns - b.queued_ns) AS len
  FROM device_busy AS b
  WHERE b.steady AND b.known AND b.graph_replays),
share AS (
  SELECT b.process_id, b.device_id, MIN(b.start_ns) AS start_ns,
    MAX(b.end_ns) AS end_ns, COUNT(*) AS steps,
    percentile(1.0 * b.busy_ns / b.len, 90) AS high,
    percentile(1.0 * b.busy_ns / b.len, 10) AS low,
    percentile(1.0 * b.busy_ns / MAX(1, b.end_ns - b.start_ns), 90)
      - percentile(1.0 * b.busy_ns / MAX(1, b.end_ns - b.start_ns), 10) AS plain_swing,
    1.0 * SUM(b.busy_ns) / SUM(b.len) AS busy,
    percentile(b.len - b.busy_ns, 90) - percentile(b.len - b.busy_ns, 10) AS idle_spread_ns,
    CASE WHEN MAX(b.noise_ns) THEN MAX(MAX(b.noise_ns),
      percentile(b.busy_ns, 90) - percentile(b.busy_ns, 10)) ELSE 0 END AS noise_ns
  FROM part AS b
  GROUP BY b.process_id, b.device_id)
SELECT e.process_id, e.start_ns, e.end_ns, e.late_ns AS cost_ns,
  e.graph_name AS subject, COALESCE(e.launch_stack_id, e.stack_id) AS stack_id,
  printf('time between launches is %.2f ms in the median and varies by %.0f %%,'
    || ' the device''s idle time before it by %.2f ms', e.interval_median_ns / 1e6,
    100 * e.interval_cv, e.idle_spread_ns / 1e6) AS what,
  'graph_exec' AS evidence_table, e.exec_id AS evidence_id,
  'coefficient of variation' AS ev1_label, round(e.interval_cv, 3) AS ev1_value,
  '99th percentile of the interval' AS ev2_label, e.interval_p99_ns AS ev2_value,
  'ns' AS ev2_unit, 'intervals' AS ev3_label, e.intervals AS ev3_value
FROM exec_reuse AS e
WHERE e.interval_cv > :cv_max AND e.interval_spread > :spread_max
  AND e.intervals >= :intervals_min
  AND e.intervals * e.interval_median_ns >= :regular_ms_min * 1e6
  AND e.idle_spread_ns > :idle_share_max * e.interval_median_ns
  AND e.idle_spread_ns > e.noise_ns
UNION ALL
SELECT s.process_id, s.start_ns, s.end_ns, 0, 'device ' || s.device_id, NULL,
  printf('busy between %.0f %% and %.0f %% of a step', 100 * s.low, 100 * s.high),
  'device', s.device_id, 'steps', s.steps,
  'idle time of a step varies by', CAST(s.idle_spread_ns AS INTEGER), 'ns',
  NULL, NULL
FROM share AS s
WHERE s.steps >= :steps_min AND s.high - s.low > :swing_max AND s.plain_swing > :swing_max
  AND s.busy >= :busy_low
  AND s.idle_spread_ns > s.noise_ns
ORDER BY process_id, subject;
-- test: fires just above every threshold
INSERT INTO exec_reuse (process_id, exec_id, graph_name, interval_median_ns, interval_cv,
  interval_spread, idle_spread_ns, intervals, noise_ns, stack_id,
  launch_stack_id, late_ns)
VALUES (1, 4, 'cycle', 100000000, 0.31, 0.31, 16000000, 20, 15000000, 3, 8, 70000000);
-- expect: cycle: time between launches is 100.00 ms in the median and varies by 31 %, the device's idle time before it by 16.00 ms | stack_id=8 cost_ns=70000000 confidence=medium
-- test: quiet at exactly one threshold each
INSERT INTO exec_reuse (process_id, exec_id, graph_name, interval_median_ns, interval_cv,
  interval_spread, idle_spread_ns, intervals, noise_ns, stack_id,
  launch_stack_id, late_ns)
VALUES (1, 4, 'cycle', 100000000, 0.3, 0.31, 16000000, 20, 15000000, 3, 8, 70000000),
  (2, 4, 'cycle', 100000000, 0.31, 0.3, 16000000, 20, 15000000, 3, 8, 70000000),
  (3, 4, 'cycle', 100000000, 0.31, 0.31, 15000000, 20, 0, 3, 8, 70000000),
  (4, 4, 'cycle', 100000000, 0.31, 0.31, 16000000, 19, 15000000, 3, 8, 70000000);
-- expect: none
-- test: fires from 50 ms of regular intervals on
INSERT INTO exec_reuse (process_id, exec_id, graph_name, interval_median_ns, interval_cv,
  interval_spread, idle_spread_ns, intervals, late_ns)
VALUES (1, 4, 'cycle', 1000000, 0.5, 0.5, 500000, 49, 9), (2, 4, 'cycle', 1000000, 0.5, 0.5, 500000, 50, 9);
-- expect: cycle: time between launches is 1.00 ms in the median and varies by 50 %, the device's idle time before it by 0.50 ms | process_id=2
-- test: quiet on a busy machine: only outliers, only a slow device, or no more than scheduling noise
INSERT INTO exec_reuse (process_id, exec_id, graph_name, interval_median_ns, interval_cv,
  interval_spread, idle_spread_ns, intervals, noise_ns, stack_id,
  launch_stack_id, late_ns)
VALUES (1, 4, 'cycle', 100000000, 0.9, 0.1, 16000000, 20, 15000000, 3, 8, 70000000),
  (2, 4, 'cycle', 100000000, 0.9, 0.9, 1000000, 20, 0, 3, 8, 70000000),
  (3, 4, 'cycle', 100000000, 0.9, 0.9, 16000000, 20, 16000000, 3, 8, 70000000);
-- expect: none
-- test: quiet without device times
INSERT INTO exec_reuse (process_id, exec_id, graph_name, interval_median_ns, interval_cv,
  interval_spread, idle_spread_ns, intervals, noise_ns, stack_id,
  launch_stack_id, late_ns)
VALUES (1, 4, 'cycle', 100000000, 0.9, 0.9, NULL, 99, 0, 3, NULL, NULL);
-- expect: none
-- test: a swing of the busy share fires
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 300 ELSE 605 END,
  2 FROM n;
-- expect: device 0: busy between 30 % and 61 % of a step
-- test: quiet at exactly the allowed swing, below it, with too few steps, and when warm-up swings
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 410 ELSE 710 END,
  2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 2, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 415 ELSE 710 END,
  2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 18)
SELECT 3, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 300 ELSE 900 END,
  2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 4, i, 0, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 300 ELSE 900 END,
  2 FROM n;
-- expect: none
-- test: quiet when a swing is no more than scheduling noise of a host device, or than the slowness of its work
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 300 ELSE 900 END,
  2 FROM n;
UPDATE device_busy SET noise_ns = 800;
-- expect: none
-- test: fires for a host device when the idle time varies more
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, 0, CASE WHEN i % 2 THEN 1000 ELSE 1901 END, 900, 2 FROM n;
UPDATE device_busy SET noise_ns = 900;
-- expect: device 0: busy between 47 % and 90 % of a step
-- test: quiet for a host device when it varies as much as the noise
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, 0, CASE WHEN i % 2 THEN 1000 ELSE 1900 END, 900, 2 FROM n;
UPDATE device_busy SET noise_ns = 900;
-- expect: none
-- test: quiet when the idle time is that of replays which had been launched in time
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39)
SELECT 1, i, 1, i * 10000, i * 10000 + CASE WHEN i % 2 THEN 1000 ELSE 3400 END, 900,
  CASE WHEN i % 2 THEN 0 ELSE 2400 END, 2 FROM n;
-- expect: none
-- test: quiet when the device is idle most of the time, fires from the least share on
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 200 ELSE 595 END,
  2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  graph_replays)
SELECT 2, step, 1, start_ns, end_ns, CASE WHEN step % 2 THEN 200 ELSE 600 END, 2 FROM device_busy;
-- expect: device 0: busy between 20 % and 60 % of a step | process_id=2
-- test: quiet when only the share of what replays waited for their start changes, at exactly the allowed swing too
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 430 + i % 2, CASE WHEN i % 2 THEN 560 ELSE 300 END, 200 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 2, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 410 ELSE 710 END, 100, 200 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 3, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 405 ELSE 710 END, 100, 200 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 4, i, 1, i * 1000, i * 1000 + 1000, CASE WHEN i % 2 THEN 369 ELSE 710 END,
  CASE WHEN i % 2 THEN 100 ELSE 0 END, 200 FROM n;
-- expect: device 0: busy between 45 % and 79 % of a step | process_id=3
