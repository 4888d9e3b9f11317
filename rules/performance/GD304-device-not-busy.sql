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
-- param pause_times: 20
-- param pause_share: 0.01
-- param queued_named: 0.5
-- why: In steady state the device ran nothing for a good part of the time, although graphs take the cost of
--   single launches away. The rest of the report says where the time goes (gaps, waits of the host, fallbacks). Busy
--   is not the same as well used: a rank that waits inside a collective looks busy, which is why both figures are
--   given, the second where the kernels of replays were recorded one by one. A step whose idle time is more than 20
--   times the median step is a pause (a checkpoint, a machine that did something else); one pause, or one in a hundred
--   steps, does not make a pipeline slow and is left out, and more of them, such as the time until the next request,
--   make no warning while the median step is busy. Time in
--   which a replay had been launched and waits for nothing of its own job is time of other processes on the device, or
--   the start of many short replays: it makes no warning.
-- fix: Start with the findings on gaps (GD301), waits (GD302), fallbacks (GD306) and irregular launches
--   (GD303). If there are none, capture a larger region (several micro-batches or layers, the optimizer too), raise
--   the batch size, or move input preparation to a side stream.
-- source: The thresholds (0.85, 0.40, 0.15) are this project's defaults
-- message: device {device}: busy {busy:.1%} of steady state, {without}{stalled}{queued}
WITH usual AS (
  SELECT process_id, device_id, COUNT(*) AS steps, MIN(start_ns) AS start_ns,
    MAX(end_ns) AS end_ns, SUM(graph_replays) AS replays,
    SUM(end_ns - start_ns) AS all_ns, SUM(busy_ns) AS busy_ns,
    CASE WHEN COUNT(*) = COUNT(busy_without_comm_ns)
      THEN SUM(busy_without_comm_ns) END AS without_ns, SUM(queued_ns) AS queued_ns,
    median(end_ns - start_ns - busy_ns) AS idle_ns,
    :pause_times * median(end_ns - start_ns) AS pause_ns,
    median(1.0 * busy_ns / (end_ns - start_ns)) AS typical,
    MAX(granularity) AS granularity, MAX(noise_ns) AS noise_ns
  FROM device_busy
  WHERE steady AND known
  GROUP BY process_id, device_id),
pause AS (
  SELECT u.process_id, u.device_id, COUNT(*) AS pauses,
    SUM(b.end_ns - b.start_ns) AS all_ns, SUM(b.busy_ns) AS busy_ns,
    SUM(b.busy_without_comm_ns) AS without_ns
  FROM device_busy AS b CROSS JOIN usual AS u
    ON u.process_id = b.process_id AND u.device_id = b.device_id
  WHERE b.steady AND b.known AND b.end_ns - b.start_ns - b.busy_ns > u.pause_ns
  GROUP BY u.process_id, u.device_id
  HAVING COUNT(*) <= MAX(1, :pause_share * u.steps)),
share AS (
  SELECT u.*, p.pauses, 1.0 * u.queued_ns / u.all_ns AS queued_share,
    1.0 * (u.busy_ns - COALESCE(p.busy_ns, 0))
      / (u.all_ns - COALESCE(p.all_ns, 0)) AS busy,
    1.0 * (u.without_ns - COALESCE(p.without_ns, 0))
      / (u.all_ns - COALESCE(p.all_ns, 0)) AS without
  FROM usual AS u LEFT JOIN pause AS p USING (process_id, device_id))
SELECT s.process_id, s.start_ns, s.end_ns, s.device_id AS device, s.busy,
  CASE WHEN s.without IS NULL
    THEN 'communication inside replays was not measured'
    ELSE printf('%.1f%% without communication', 100 * s.without) END AS without,
  CASE WHEN s.busy + s.queued_share < :busy_low AND s.typical < :busy_low THEN 'warning' ELSE 'info' END
    AS severity,
  CASE WHEN s.busy + s.queued_share <= :busy_stalled
    AND s.typical < :busy_low THEN ': the pipeline is stalled'
    ELSE '' END AS stalled,
  CASE WHEN s.queued_share >= :queued_named * (1 - s.busy)
    THEN printf('; %.1f %% a replay that had been launched waits for its turn',
      100 * s.queued_share) ELSE '' END AS queued,
  'device' AS evidence_table, s.device_id AS evidence_id,
  'idle a step, median' AS ev1_label, CAST(s.idle_ns AS INTEGER) AS ev1_value,
  'ns' AS ev1_unit, 'steps' AS ev2_label, s.steps AS ev2_value,
  'replays' AS ev3_label, s.replays AS ev3_value,
  'granularity of the record' AS ev4_label, s.granularity AS ev4_value,
  'steps left out for a single long pause' AS ev5_label,
  s.pauses AS ev5_value,
  'busy share of the median step' AS ev6_label,
  printf('%.1f %%', 100 * s.typical) AS ev6_value
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
-- test: no share without communication where a step does not know it
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 845, CASE WHEN i < 19 THEN 200 END, 2 FROM n;
-- expect: device 0: busy 84.5% of steady state, communication inside replays was not measured
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
-- test: one long pause in a job of short steps is left out, at exactly its length it is not
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 800, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
SELECT 2, step, 1, start_ns, end_ns, busy_ns, busy_without_comm_ns, 2 FROM device_busy;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
VALUES (1, 30, 1, 30000, 50801, 800, 200, 2), (2, 30, 1, 30000, 50800, 800, 200, 2);
-- expect: device 0: busy 80.0% of steady state, 20.0% without communication | process_id=1 severity=info ev2_value=31 ev5_value=1
-- expect: device 0: busy 48.8% of steady state, 12.2% without communication | process_id=2 severity=info ev5_value=null
-- test: quiet when it was busy but for one pause
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 900, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
VALUES (1, 30, 1, 30000, 1000000000, 900, 200, 2);
-- expect: none
-- test: pauses that come again and again are how the job runs
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 900, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
SELECT 2, step, 1, start_ns, end_ns, busy_ns, busy_without_comm_ns, 2 FROM device_busy;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2)
SELECT 1, 200 + i, 1, 200000 + i * 100000, 300000 + i * 100000, 900, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1)
SELECT 2, 200 + i, 1, 200000 + i * 100000, 300000 + i * 100000, 900, 200, 2 FROM n;
-- expect: device 0: busy 36.5% of steady state, 8.1% without communication | process_id=1 severity=info ev6_value='90.0 %'
-- test: two pauses in few steps are how the job runs
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 900, 200, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
VALUES (1, 30, 1, 30000, 130000, 900, 200, 2), (1, 31, 1, 130000, 230000, 900, 200, 2);
-- expect: device 0: busy 12.5% of steady state, 2.8% without communication | severity=info
-- test: no warning when replays had been launched and wait for their turn
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 100, 700, 100, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns,
  busy_without_comm_ns, graph_replays)
SELECT 2, step, 1, start_ns, end_ns, busy_ns, 300, busy_ns, 2 FROM device_busy;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns,
  busy_without_comm_ns, graph_replays)
SELECT 3, step, 1, start_ns, end_ns, busy_ns, 40, busy_ns, 2 FROM device_busy WHERE process_id = 1;
-- expect: device 0: busy 10.0% of steady state, 10.0% without communication; 70.0 % a replay that had been launched waits for its turn | severity=info
-- expect: device 0: busy 10.0% of steady state, 10.0% without communication | severity=info
-- expect: device 0: busy 10.0% of steady state, 10.0% without communication: the pipeline is stalled | severity=warning
-- test: names the time of others from half of the idle time on
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
SELECT 1, i, 1, i * 1000, i * 1000 + 1000, 500, 250, 500, 2 FROM n;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns, queued_ns,
  busy_without_comm_ns, graph_replays)
SELECT 2, step, 1, start_ns, end_ns, busy_ns, 245, busy_ns, 2 FROM device_busy;
-- expect: device 0: busy 50.0% of steady state, 50.0% without communication; 25.0 % a replay that had been launched waits for its turn
-- expect: device 0: busy 50.0% of steady state, 50.0% without communication
-- test: pauses beside steps that are not busy either are a warning, at exactly the threshold they are none
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
SELECT p.value, i, 1, i * 1000, i * 1000 + 1000, IIF(p.value = 1, 399, 400), 200, 2
FROM n, json_each('[1, 2]') AS p;
INSERT INTO device_busy (process_id, step, steady, start_ns, end_ns, busy_ns,
  busy_without_comm_ns, graph_replays)
VALUES (1, 30, 1, 30000, 130000, 900, 200, 2), (1, 31, 1, 130000, 230000, 900, 200, 2),
  (2, 30, 1, 30000, 130000, 900, 200, 2), (2, 31, 1, 130000, 230000, 900, 200, 2);
-- expect: device 0: busy 6.0% of steady state, 2.8% without communication: the pipeline is stalled | process_id=1 severity=warning
-- expect: device 0: busy 6.0% of steady state, 2.8% without communication | process_id=2 severity=info
