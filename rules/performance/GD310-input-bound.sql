-- SPDX-License-Identifier: Apache-2.0
-- rule: GD310 input-bound
-- title: Device waits for input data
-- severity: info
-- impact: slow
-- confidence: medium
-- root: step
-- needs: graph_trace|node_activity>=partial, callbacks>=partial
-- param io_wait_min: 0.17
-- param steps_min: 5
-- why: Before its replays the device had nothing to do because the launching thread was copying input, or inside a
--   range of the data loader. Waiting for a loader while the device is busy is harmless; this is idle time.
-- fix: More loader workers, kept between epochs (num_workers, persistent_workers, prefetch_factor), faster decoding
--   or cached samples; copy the next batch from pinned memory on a side stream while the last replay runs
--   (non_blocking=True), and let the graph's stream wait for an event.
-- source: The share of 17 % is this project's default
-- message: {graph}: the device idles {share:.1%} of steady state for input data before its replays ({calls})
WITH most AS (
  SELECT process_id, device_id, exec_id, MAX(data_ns) AS data_ns
  FROM replay_gap
  WHERE data_ns AND steady AND known
  GROUP BY process_id, device_id, exec_id),
longest AS (
  SELECT w.process_id, w.device_id, w.exec_id, MIN(w.replay_id), w.stack_id
  FROM replay_gap AS w
  CROSS JOIN most USING (process_id, device_id, exec_id, data_ns)
  WHERE w.steady AND w.known
  GROUP BY w.process_id, w.device_id, w.exec_id)
SELECT g.process_id, MIN(g.start_ns) AS start_ns, MAX(g.end_ns) AS end_ns,
  SUM(g.data_ns) AS cost_ns, g.graph_name AS graph,
  1.0 * SUM(g.data_ns) / (s.end_ns - s.start_ns) AS share,
  COALESCE(MAX(CASE WHEN g.cause = 'data' THEN g.cause_detail END), 'in ranges of the data loader') AS calls,
  MAX(g.thread_id) AS thread_id,
  l.stack_id,
  CASE WHEN MIN(g.eager_recorded) THEN 'medium' ELSE 'low' END AS confidence,
  'replay' AS evidence_table, MIN(g.replay_id) AS evidence_id,
  'steps concerned' AS ev1_label,
  COUNT(DISTINCT CASE WHEN g.data_ns THEN g.step END) AS ev1_value,
  'idle for data in a gap, median' AS ev2_label,
  CAST(median(g.data_ns) AS INTEGER) AS ev2_value, 'ns' AS ev2_unit
FROM replay_gap AS g
CROSS JOIN longest AS l USING (process_id, device_id, exec_id)
JOIN steady_state AS s USING (process_id)
WHERE g.steady AND g.known AND s.steps >= :steps_min
  AND g.end_ns - g.start_ns > g.noise_ns
GROUP BY g.process_id, g.device_id, g.exec_id
HAVING SUM(g.data_ns) > :io_wait_min * (s.end_ns - s.start_ns)
ORDER BY g.process_id, g.device_id, g.exec_id;
-- test: fires just above the share, with the call that copies
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 10000, 5);
INSERT INTO replay_gap (process_id, device_id, exec_id, replay_id, graph_name, step, steady, start_ns,
  end_ns, data_ns, cause, cause_detail, stack_id, eager_recorded)
VALUES (1, 0, 4, 20, 'cycle', 7, 1, 0, 1000, 900, 'data', 'cuMemcpyHtoD', 3, 1),
  (1, 0, 4, 21, 'cycle', 8, 1, 2000, 3000, 970, 'data', 'cuMemcpyHtoD', 9, 1);
-- expect: cycle: the device idles 18.7% of steady state for input data before its replays (cuMemcpyHtoD) | cost_ns=1870 stack_id=9 confidence=medium ev1_value=2
-- test: a share just above fires, exactly at it and just below are quiet; loader ranges have no call
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 10000, 5),
  (2, 0, 100, 5),
  (3, 0, 10000, 5);
INSERT INTO replay_gap (process_id, device_id, exec_id, replay_id, graph_name, step, steady, start_ns,
  end_ns, data_ns, cause, eager_recorded)
VALUES (1, 0, 4, 20, 'cycle', 7, 1, 0, 3000, 1710, 'data', 0),
  (2, 0, 4, 20, 'cycle', 7, 1, 0, 30, 17, 'data', 1),
  (3, 0, 4, 20, 'cycle', 7, 1, 0, 3000, 1690, 'data', 1);
-- expect: cycle: the device idles 17.1% of steady state for input data before its replays (in ranges of the data loader) | process_id=1 confidence=low
-- test: quiet in warm-up, where gaps are not known, with too few steps and below the machine's noise
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 10000, 5),
  (2, 0, 10000, 4),
  (3, 0, 10000, 5);
INSERT INTO replay_gap (process_id, device_id, exec_id, replay_id, graph_name, step, steady, start_ns,
  end_ns, data_ns, cause, known, noise_ns)
VALUES (1, 0, 4, 20, 'cycle', 7, 0, 0, 3000, 3000, 'data', 1, 0),
  (1, 0, 4, 21, 'cycle', 8, 1, 0, 3000, 3000, 'data', 0, 0),
  (2, 0, 4, 22, 'cycle', 8, 1, 0, 3000, 3000, 'data', 1, 0),
  (3, 0, 4, 23, 'cycle', 8, 1, 0, 3000, 3000, 'data', 1, 3000);
-- expect: none
