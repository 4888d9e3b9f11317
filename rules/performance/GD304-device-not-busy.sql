-- SPDX-License-Identifier: Apache-2.0
-- rule: GD304 device-not-busy
-- title: Device not busy enough although graphs are used
-- severity: info
-- impact: slow
-- confidence: high
-- root: step
-- needs: eager_kernel_activity>=partial, graph_trace|node_activity>=partial
-- param busy_min: 0.85
-- param busy_low: 0.40
-- param busy_stalled: 0.15
-- param steps_min: 20
-- why: In steady state the device ran nothing for a good part of the time, although graphs take the cost of
--   single launches away. The rest of the report says where the time goes (gaps, waits of the host, fallbacks). Busy
--   is not the same as well used: a rank that waits inside a collective looks busy, which is why both figures are
--   given.
-- fix: Start with the findings on gaps (GD301), waits (GD302), fallbacks (GD306) and irregular launches
--   (GD303). If there are none, capture a larger region (several micro-batches or layers, the optimizer too), raise
--   the batch size, or move input preparation to a side stream.
-- source: The thresholds (0.85, 0.40, 0.15) are this project's defaults
-- message: device {device}: busy {busy:.1%} of steady state, {without:.1%} without communication{stalled}
WITH share AS (
  SELECT b.process_id, b.device_id, MIN(b.start_ns) AS start_ns,
    MAX(b.end_ns) AS end_ns, COUNT(*) AS steps, SUM(b.graph_replays) AS replays,
    1.0 * SUM(b.busy_ns) / SUM(b.end_ns - b.start_ns) AS busy,
    1.0 * SUM(b.busy_without_comm_ns) / SUM(b.end_ns - b.start_ns) AS without,
    median(b.end_ns - b.start_ns - b.busy_ns) AS idle_ns,
    MAX(b.granularity) AS granularity,
    MAX(b.noise_ns) AS noise_ns
  FROM device_busy AS b
  WHERE b.steady AND b.known
  GROUP BY b.process_id, b.device_id)
SELECT s.process_id, s.start_ns, s.end_ns, s.device_id AS device, s.busy,
  s.without,
  CASE WHEN s.busy < :busy_low THEN 'warning' ELSE 'info' END AS severity,
  CASE WHEN s.busy <= :busy_stalled THEN ': the pipeline is stalled' ELSE '' END
    AS stalled,
  'device' AS evidence_table, s.device_id AS evidence_id,
  'idle a step, median' AS ev1_label, CAST(s.idle_ns AS INTEGER) AS ev1_value,
  'ns' AS ev1_unit, 'steps' AS ev2_label, s.steps AS ev2_value,
  'replays' AS ev3_label, s.replays AS ev3_value,
  'granularity of the record' AS ev4_label, s.granularity AS ev4_value
FROM share AS s
WHERE s.steps >= :steps_min AND s.replays AND s.busy < :busy_min
  AND s.idle_ns > s.noise_ns
ORDER BY s.process_id, s.device_id;
-- test: fires just below the threshold
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 845, 200, 2 FROM n;
-- expect: device 0: busy 84.5% of steady state, 20.0% without communication | severity=info root_kind=step
-- test: quiet at exactly the threshold and above it
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 850, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 2, i, 1, i * 1000, i * 1000 + 1000, 855, 200, 2 FROM n;
-- expect: none
-- test: a warning below the second threshold only
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 395, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 2, i, 1, i * 1000, i * 1000 + 1000, 400, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 3, i, 1, i * 1000, i * 1000 + 1000, 405, 200, 2 FROM n;
-- expect: device 0: busy 39.5% of steady state, 20.0% without communication | severity=warning
-- expect: device 0: busy 40.0% of steady state, 20.0% without communication | severity=info
-- expect: device 0: busy 40.5% of steady state, 20.0% without communication | severity=info
-- test: stalled at exactly the third threshold
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 150, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 2, i, 1, i * 1000, i * 1000 + 1000, 155, 200, 2 FROM n;
-- expect: device 0: busy 15.0% of steady state, 20.0% without communication: the pipeline is stalled
-- expect: device 0: busy 15.5% of steady state, 20.0% without communication
-- test: quiet with too few steps, without replays, and in warm-up
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 18)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 100, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 2, i, 1, i * 1000, i * 1000 + 1000, 100, 200, 0 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 3, i, 0, i * 1000, i * 1000 + 1000, 100, 200, 2 FROM n;
-- expect: none
-- test: quiet when the idle time is only scheduling noise of a host device
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 400, 200, 2 FROM n;
UPDATE device_busy SET noise_ns = 600;
-- expect: none
