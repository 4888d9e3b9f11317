-- SPDX-License-Identifier: Apache-2.0
-- rule: GD302 sync-between-replays
-- title: Host waits for the device between replays of a step
-- severity: warning
-- impact: slow
-- confidence: high
-- root: step
-- needs: graph_trace|node_activity>=partial, callbacks>=partial
-- param idle_us: 50
-- param per_step_min: 0.50
-- param steps_min: 5
-- param between_steps_min: 0.05
-- param mention_min: 0.005
-- param pause_times: 20
-- why: The thread that launches replays blocked until the device had run dry, and only then launched the next
--   one: the device idles for the rest of the host's work, every step. (A synchronise inside a capture would be an
--   error, GD101: this one lies between two graphs.) What the device waits for once the replay is launched, such as its
--   turn beside other processes, does not count, and neither does a pause of more than 20 median steps, such as the time
--   until the next request. What one call costs before all graphs that follow it is taken together.
-- fix: Read results later: copy them to pinned memory with non_blocking=True, record an event, and look one or
--   more steps afterwards. Replace .item(), .cpu() and torch.cuda.synchronize() between graphs by device-side work
--   (torch.where for gradient clipping and loss scaling), cudaDeviceSynchronize by cudaStreamWaitEvent, blocking
--   cudaMemcpy by cudaMemcpyAsync. One wait every N steps is fine. A wait at the end of each step is a warning when it
--   costs more than 5 % of the time, and only mentioned while it costs less. Idle times below 50 us, about what a launch
--   takes, are mentioned when they add up to more than 5 %: such replays are too short to wait for each.
-- source: CUDA programming guide, asynchronous execution
-- message: {call} before {graph}: the device runs dry in {steps} of {steady_steps:count step} and idles {idle_ns:ns} each time until the next replay starts
WITH idle AS (
  SELECT g.*, COALESCE(g.sync_stack_id, 0) AS place,
    g.end_ns - g.start_ns - g.event_ns - g.peer_ns - g.nccl_ns - g.unknown_ns AS len
  FROM replay_gap AS g
  WHERE g.steady AND g.known AND g.sync_api IS NOT NULL),
waited AS (
  SELECT i.*, i.len >= :idle_us * 1e3 AS is_long, s.steps AS steady_steps,
    s.end_ns - s.start_ns AS steady_ns,
    COALESCE(i.len > :pause_times * NULLIF(s.median_step_ns, 0), FALSE) AS is_pause
  FROM idle AS i JOIN steady_state AS s USING (process_id)
  WHERE i.len > i.noise_ns AND s.steps >= :steps_min),
graph AS (
  SELECT process_id, device_id, sync_api, same_step, place, exec_id,
    MAX(graph_name) AS graph_name, MIN(replay_id) AS replay_id,
    ROW_NUMBER() OVER (PARTITION BY process_id, device_id, sync_api, same_step, place
      ORDER BY SUM(len) DESC, exec_id) AS rank,
    COUNT(*) OVER (PARTITION BY process_id, device_id, sync_api, same_step, place)
      AS graphs
  FROM waited WHERE NOT is_pause
  GROUP BY process_id, device_id, sync_api, same_step, place, exec_id),
pause AS (
  SELECT process_id, device_id, sync_api, same_step, place,
    COUNT(*) AS pauses, SUM(len) AS pause_ns
  FROM waited WHERE is_pause
  GROUP BY process_id, device_id, sync_api, same_step, place),
found AS (
  SELECT w.process_id, w.device_id, MIN(w.start_ns) AS start_ns,
    MAX(w.end_ns) AS end_ns, SUM(w.len) AS cost_ns, g.exec_id, g.graph_name,
    g.replay_id, g.graphs, w.sync_api, w.sync_runtime_api, w.same_step,
    COUNT(DISTINCT w.step) AS steps, w.steady_steps,
    CAST(median(w.len) AS INTEGER) AS idle_ns, COUNT(*) AS waits,
    CAST(median(w.sync_ns) AS INTEGER) AS blocked_ns,
    w.sync_stack_id AS stack_id, MAX(w.thread_id) AS thread_id,
    MIN(w.eager_recorded) AS eager_recorded, p.pauses, p.pause_ns,
    COUNT(DISTINCT CASE WHEN w.is_long THEN w.step END)
      >= :per_step_min * w.steady_steps AS is_often_long,
    COUNT(DISTINCT w.step) >= :per_step_min * w.steady_steps AS is_often,
    1.0 * SUM(w.len) / (w.steady_ns - COALESCE(p.pause_ns, 0)) AS share
  FROM waited AS w
  JOIN graph AS g USING (process_id, device_id, sync_api, same_step, place)
  LEFT JOIN pause AS p USING (process_id, device_id, sync_api, same_step, place)
  WHERE NOT w.is_pause AND g.rank = 1
  GROUP BY w.process_id, w.device_id, w.sync_api, w.same_step, w.place)
SELECT f.process_id, f.start_ns, f.end_ns, f.cost_ns,
  f.graph_name || CASE WHEN f.graphs > 1
    THEN ' and ' || counted(f.graphs - 1, 'other') ELSE '' END AS graph,
  f.sync_api || COALESCE(' [' || f.sync_runtime_api || ']', '') AS call,
  f.steps, f.steady_steps, f.idle_ns, f.stack_id, f.thread_id,
  CASE WHEN f.eager_recorded THEN 'high' ELSE 'low' END AS confidence,
  CASE WHEN f.is_often_long AND (f.same_step OR f.share > :between_steps_min)
    THEN 'warning' ELSE 'info' END AS severity,
  'replay' AS evidence_table, f.replay_id AS evidence_id,
  'waits' AS ev1_label, f.waits AS ev1_value,
  'host blocked, median' AS ev2_label, f.blocked_ns AS ev2_value,
  'ns' AS ev2_unit,
  'device idle, median' AS ev3_label, f.idle_ns AS ev3_value,
  'ns' AS ev3_unit,
  'share of steady state' AS ev4_label,
  printf('%.1f %%', 100 * f.share) AS ev4_value,
  'pauses left out' AS ev5_label, f.pauses AS ev5_value,
  'time of these' AS ev6_label, f.pause_ns AS ev6_value, 'ns' AS ev6_unit
FROM found AS f
WHERE (f.is_often AND f.share > :between_steps_min)
  OR (f.is_often_long AND (f.same_step OR f.share > :mention_min))
ORDER BY f.process_id, f.device_id, f.exec_id, f.sync_api, f.same_step;
-- test: fires at exactly half of the steps, least steps, least idle
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 9000000, 6);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (1, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 3 of 6 steps and idles 50.0 us each time until the next replay starts | cost_ns=150000 stack_id=3 root_kind=step severity=warning
-- test: fires with the least number of steps
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 9000000, 5);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (1, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 5 of 5 steps and idles 50.0 us each time until the next replay starts
-- test: between two steps it counts when it costs more than a twentieth
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 4545454, 6);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (0, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 5 of 6 steps and idles 50.0 us each time until the next replay starts
-- test: between two steps it is only mentioned at exactly a twentieth and below
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 5000000, 6);
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (2, 0, 5555555, 6);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (0, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 900, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 901, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 902, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 903, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 904, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 5 of 6 steps and idles 50.0 us each time until the next replay starts | severity=info
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 5 of 6 steps and idles 50.0 us each time until the next replay starts | severity=info
-- test: quiet when less than half of the steps wait
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 9000000, 100);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (1, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 405, 'optimizer', 15, 1, 5000000, 5050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 406, 'optimizer', 16, 1, 6000000, 6050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 407, 'optimizer', 17, 1, 7000000, 7050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 408, 'optimizer', 18, 1, 8000000, 8050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 409, 'optimizer', 19, 1, 9000000, 9050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 410, 'optimizer', 20, 1, 10000000, 10050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 411, 'optimizer', 21, 1, 11000000, 11050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 412, 'optimizer', 22, 1, 12000000, 12050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 413, 'optimizer', 23, 1, 13000000, 13050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 414, 'optimizer', 24, 1, 14000000, 14050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 415, 'optimizer', 25, 1, 15000000, 15050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 416, 'optimizer', 26, 1, 16000000, 16050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 417, 'optimizer', 27, 1, 17000000, 17050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 418, 'optimizer', 28, 1, 18000000, 18050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 419, 'optimizer', 29, 1, 19000000, 19050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 420, 'optimizer', 30, 1, 20000000, 20050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 421, 'optimizer', 31, 1, 21000000, 21050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 422, 'optimizer', 32, 1, 22000000, 22050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 423, 'optimizer', 33, 1, 23000000, 23050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 424, 'optimizer', 34, 1, 24000000, 24050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 425, 'optimizer', 35, 1, 25000000, 25050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 426, 'optimizer', 36, 1, 26000000, 26050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 427, 'optimizer', 37, 1, 27000000, 27050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 428, 'optimizer', 38, 1, 28000000, 28050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 429, 'optimizer', 39, 1, 29000000, 29050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 430, 'optimizer', 40, 1, 30000000, 30050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 431, 'optimizer', 41, 1, 31000000, 31050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 432, 'optimizer', 42, 1, 32000000, 32050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 433, 'optimizer', 43, 1, 33000000, 33050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 434, 'optimizer', 44, 1, 34000000, 34050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 435, 'optimizer', 45, 1, 35000000, 35050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 436, 'optimizer', 46, 1, 36000000, 36050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 437, 'optimizer', 47, 1, 37000000, 37050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 438, 'optimizer', 48, 1, 38000000, 38050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 439, 'optimizer', 49, 1, 39000000, 39050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 440, 'optimizer', 50, 1, 40000000, 40050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 441, 'optimizer', 51, 1, 41000000, 41050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 442, 'optimizer', 52, 1, 42000000, 42050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 443, 'optimizer', 53, 1, 43000000, 43050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 444, 'optimizer', 54, 1, 44000000, 44050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 445, 'optimizer', 55, 1, 45000000, 45050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 446, 'optimizer', 56, 1, 46000000, 46050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 447, 'optimizer', 57, 1, 47000000, 47050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 448, 'optimizer', 58, 1, 48000000, 48050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: none
-- test: fires when half of a hundred steps wait
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 90000000, 100);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (1, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 405, 'optimizer', 15, 1, 5000000, 5050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 406, 'optimizer', 16, 1, 6000000, 6050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 407, 'optimizer', 17, 1, 7000000, 7050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 408, 'optimizer', 18, 1, 8000000, 8050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 409, 'optimizer', 19, 1, 9000000, 9050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 410, 'optimizer', 20, 1, 10000000, 10050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 411, 'optimizer', 21, 1, 11000000, 11050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 412, 'optimizer', 22, 1, 12000000, 12050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 413, 'optimizer', 23, 1, 13000000, 13050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 414, 'optimizer', 24, 1, 14000000, 14050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 415, 'optimizer', 25, 1, 15000000, 15050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 416, 'optimizer', 26, 1, 16000000, 16050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 417, 'optimizer', 27, 1, 17000000, 17050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 418, 'optimizer', 28, 1, 18000000, 18050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 419, 'optimizer', 29, 1, 19000000, 19050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 420, 'optimizer', 30, 1, 20000000, 20050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 421, 'optimizer', 31, 1, 21000000, 21050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 422, 'optimizer', 32, 1, 22000000, 22050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 423, 'optimizer', 33, 1, 23000000, 23050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 424, 'optimizer', 34, 1, 24000000, 24050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 425, 'optimizer', 35, 1, 25000000, 25050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 426, 'optimizer', 36, 1, 26000000, 26050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 427, 'optimizer', 37, 1, 27000000, 27050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 428, 'optimizer', 38, 1, 28000000, 28050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 429, 'optimizer', 39, 1, 29000000, 29050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 430, 'optimizer', 40, 1, 30000000, 30050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 431, 'optimizer', 41, 1, 31000000, 31050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 432, 'optimizer', 42, 1, 32000000, 32050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 433, 'optimizer', 43, 1, 33000000, 33050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 434, 'optimizer', 44, 1, 34000000, 34050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 435, 'optimizer', 45, 1, 35000000, 35050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 436, 'optimizer', 46, 1, 36000000, 36050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 437, 'optimizer', 47, 1, 37000000, 37050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 438, 'optimizer', 48, 1, 38000000, 38050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 439, 'optimizer', 49, 1, 39000000, 39050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 440, 'optimizer', 50, 1, 40000000, 40050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 441, 'optimizer', 51, 1, 41000000, 41050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 442, 'optimizer', 52, 1, 42000000, 42050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 443, 'optimizer', 53, 1, 43000000, 43050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 444, 'optimizer', 54, 1, 44000000, 44050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 445, 'optimizer', 55, 1, 45000000, 45050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 446, 'optimizer', 56, 1, 46000000, 46050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 447, 'optimizer', 57, 1, 47000000, 47050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 448, 'optimizer', 58, 1, 48000000, 48050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 449, 'optimizer', 59, 1, 49000000, 49050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 50 of 100 steps and idles 50.0 us each time until the next replay starts
-- test: quiet with less idle time, and with too few steps
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 9000000, 6);
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (2, 0, 9000000, 4);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (1, 1, 4, 400, 'optimizer', 10, 1, 0, 49999, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1049999, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2049999, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3049999, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4049999, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 405, 'optimizer', 15, 1, 5000000, 5049999, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 2, 9, 900, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 2, 9, 901, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 2, 9, 902, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 2, 9, 903, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: none
-- test: quiet where the next replay was there in time: another process has the device
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 50000000, 5), (2, 0, 50000000, 5);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady, start_ns, end_ns,
  event_ns, peer_ns, nccl_ns, unknown_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (1, 1, 4, 400, 'optimizer', 10, 1, 0, 2450000, 0, 0, 0, 2400001, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 401, 'optimizer', 11, 1, 10000000, 12450000, 0, 0, 2400001, 0, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 402, 'optimizer', 12, 1, 20000000, 22450000, 0, 2400001, 0, 0, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 403, 'optimizer', 13, 1, 30000000, 32450000, 2400001, 0, 0, 0, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 1, 4, 404, 'optimizer', 14, 1, 40000000, 42450000, 0, 0, 0, 2400001, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 2, 4, 400, 'optimizer', 10, 1, 0, 2450000, 0, 0, 0, 2400000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 2, 4, 401, 'optimizer', 11, 1, 10000000, 12450000, 0, 0, 0, 2400000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (1, 2, 4, 402, 'optimizer', 12, 1, 20000000, 22450000, 0, 0, 0, 2400000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 3 of 5 steps and idles 50.0 us each time until the next replay starts | process_id=2 cost_ns=150000
-- test: quiet without a wait, in warm-up, and where the gap is not known
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 9000000, 5);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id, known)
VALUES (1, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, NULL, NULL, NULL, NULL, 1),
  (1, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, NULL, NULL, NULL, NULL, 1),
  (1, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, NULL, NULL, NULL, NULL, 1),
  (1, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3050000, NULL, NULL, NULL, NULL, 1),
  (1, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4050000, NULL, NULL, NULL, NULL, 1),
  (1, 1, 5, 500, 'optimizer', 10, 0, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 1),
  (1, 1, 5, 501, 'optimizer', 11, 0, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 1),
  (1, 1, 5, 502, 'optimizer', 12, 0, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 1),
  (1, 1, 5, 503, 'optimizer', 13, 0, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 1),
  (1, 1, 5, 504, 'optimizer', 14, 0, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 1),
  (1, 1, 6, 600, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 0),
  (1, 1, 6, 601, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 0),
  (1, 1, 6, 602, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 0),
  (1, 1, 6, 603, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 0),
  (1, 1, 6, 604, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 0);
-- expect: none
-- test: quiet on a busy machine: idle no longer than its scheduling noise
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 9000000, 5);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id,
  noise_ns)
VALUES (1, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 50000),
  (1, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 50000),
  (1, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 50000),
  (1, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 50000),
  (1, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3, 50000);
-- expect: none
-- test: between two steps it is mentioned just above half a percent, and not at exactly that
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 45454545, 6);
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (2, 0, 50000000, 6);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (0, 1, 4, 400, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 900, 'optimizer', 10, 1, 0, 50000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 901, 'optimizer', 11, 1, 1000000, 1050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 902, 'optimizer', 12, 1, 2000000, 2050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 903, 'optimizer', 13, 1, 3000000, 3050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 904, 'optimizer', 14, 1, 4000000, 4050000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 5 of 6 steps and idles 50.0 us each time until the next replay starts | severity=info process_id=1
-- test: short idle times are mentioned when they add up to more than a twentieth: a wait after each short replay
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 454545, 10);
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (2, 0, 500000, 6);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (0, 1, 4, 400, 'optimizer', 10, 1, 0, 5000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 900, 'optimizer', 10, 1, 0, 5000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 901, 'optimizer', 11, 1, 1000000, 1005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 902, 'optimizer', 12, 1, 2000000, 2005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 903, 'optimizer', 13, 1, 3000000, 3005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 2, 9, 904, 'optimizer', 14, 1, 4000000, 4005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: cuCtxSynchronize [cudaDeviceSynchronize] before optimizer: the device runs dry in 5 of 10 steps and idles 5.00 us each time until the next replay starts | severity=info process_id=1
-- test: quiet when short idle times add up to much in less than half of the steps
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 100000, 11);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady,
  start_ns, end_ns, sync_api, sync_runtime_api, sync_ns, sync_stack_id)
VALUES (0, 1, 4, 400, 'optimizer', 10, 1, 0, 5000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 401, 'optimizer', 11, 1, 1000000, 1005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 402, 'optimizer', 12, 1, 2000000, 2005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 403, 'optimizer', 13, 1, 3000000, 3005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3),
  (0, 1, 4, 404, 'optimizer', 14, 1, 4000000, 4005000, 'cuCtxSynchronize', 'cudaDeviceSynchronize', 7000, 3);
-- expect: none
-- test: one wait before each of a ladder's graphs counts for all of them; another call's, device's or place's does not
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 160000000, 160), (2, 0, 160000000, 160);
INSERT INTO replay_gap (same_step, process_id, device_id, exec_id, replay_id, graph_name, step, steady, start_ns,
  end_ns, sync_api, sync_ns, sync_stack_id)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 79)
SELECT 1, p.value, IIF(p.value = 2, i % 2, 0), i % 8, i, 'batch ' || (i % 8), i, 1, i * 1000000,
  i * 1000000 + 60000 + (i % 8 = 5), 'cuStreamSynchronize', 7000, 3
FROM n, json_each('[1, 2]') AS p;
-- expect: cuStreamSynchronize before batch 5 and 7 others: the device runs dry in 80 of 160 steps and idles 60.0 us each time until the next replay starts | process_id=1 severity=warning cost_ns=4800010 stack_id=3 evidence_id=5
-- test: two places of the code are two findings, waits at places of their own are none
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 10000000, 10);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady, start_ns,
  end_ns, sync_api, sync_ns, sync_stack_id)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
SELECT 1, 1, i % 2, i, 'graph ' || (i % 2), i, 1, i * 1000000, i * 1000000 + 60000, 'cuStreamSynchronize', 7000,
  8 + i % 2 FROM n;
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady, start_ns,
  end_ns, sync_api, sync_ns, sync_stack_id)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
SELECT 1, 1, 2, i, 'graph 2', i, 1, i * 1000000, i * 1000000 + 60000, 'cuEventSynchronize', 7000, 10 + i FROM n;
-- expect: cuStreamSynchronize before graph 0: the device runs dry in 5 of 10 steps and idles 60.0 us each time until the next replay starts | stack_id=8
-- expect: cuStreamSynchronize before graph 1: the device runs dry in 5 of 10 steps and idles 60.0 us each time until the next replay starts | stack_id=9
-- test: pauses until the next request are left out of the cost; at exactly their length they are none
INSERT INTO steady_state (process_id, start_ns, end_ns, steps, median_step_ns)
VALUES (1, 0, 4920000000, 2000, 1200000), (2, 0, 2400000000, 2000, 1200000), (3, 0, 2400000000, 2000, 1200000);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady, start_ns,
  end_ns, sync_api, sync_ns, sync_stack_id)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
SELECT 0, p.value, 4, i, 'decode', i, 1, 0,
  CASE WHEN p.value = 1 AND i % 20 = 0 THEN 25200000 WHEN p.value = 3 AND i < 20 THEN 24000000 ELSE 51000 END,
  'cuStreamSynchronize', 7000, 3
FROM n, json_each('[1, 2, 3]') AS p;
-- expect: cuStreamSynchronize before decode: the device runs dry in 1900 of 2000 steps and idles 51.0 us each time until the next replay starts | process_id=1 severity=info cost_ns=96900000 ev5_value=100 ev6_value=2520000000
-- expect: cuStreamSynchronize before decode: the device runs dry in 2000 of 2000 steps and idles 51.0 us each time until the next replay starts | process_id=2 severity=info cost_ns=102000000 ev5_value=null
-- expect: cuStreamSynchronize before decode: the device runs dry in 2000 of 2000 steps and idles 51.0 us each time until the next replay starts | process_id=3 severity=warning cost_ns=580980000
-- test: one other graph
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 10000000, 10);
INSERT INTO replay_gap (same_step, process_id, exec_id, replay_id, graph_name, step, steady, start_ns,
  end_ns, sync_api, sync_ns)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
SELECT 1, 1, i % 2, i, 'graph ' || (i % 2), i, 1, i * 1000000, i * 1000000 + 60000, 'cuStreamSynchronize', 7000
FROM n;
-- expect: cuStreamSynchronize before graph 0 and 1 other: the device runs dry in 10 of 10 steps and idles 60.0 us each time until the next replay starts | severity=warning stack_id=null
