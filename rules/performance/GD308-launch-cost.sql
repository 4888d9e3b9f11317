-- SPDX-License-Identifier: Apache-2.0
-- rule: GD308 launch-cost
-- title: Graph launch itself is expensive
-- severity: info
-- impact: slow
-- confidence: medium
-- root: step
-- needs: graph_trace|node_activity>=partial, callbacks>=partial, eager_kernel_activity>=partial
-- param tiny_us: 20
-- param launches_min: 1000
-- param idle_share: 0.20
-- param waits_min: 0.50
-- param launch_share: 0.10
-- param call_share: 0.05
-- param first_times: 10
-- param first_share: 0.01
-- param busy_low: 0.40
-- param steps_min: 20
-- param wall_ms_min: 100
-- why: Launching a graph costs the host microseconds, more for more nodes, and much more the first time, when the
--   executable is uploaded. That is free while the host runs ahead. Here the device had run dry and waited for these calls:
--   many short replays one after another, a launch that is long against what it starts, or first launches in the middle
--   of the job. Waits of the host (GD302), gaps of 500 us and more (GD301) and updates (GD305) are not counted.
-- fix: Many short replays: capture the sequence as one graph, or make the small ones its child graphs
--   (cudaGraphAddChildGraphNode); a loop with a condition on the device is a conditional node. A long launch: launch ahead (no
--   wait between replays), fewer nodes (fused kernels, one branch instead of many), no cudaGraphExecUpdate before each
--   launch: an updated executable is uploaded again. First launches: cudaGraphUpload, or cudaGraphInstantiateFlagUpload, or
--   one launch of each executable before the loop (in PyTorch one replay() after the capture).
-- source: CUDA programming guide, graphs; launch times are this trace's own and hold what recording them costs
-- message: {subject}: {text}
WITH cost AS MATERIALIZED (
  SELECT c.*, c.call_idle_ns + c.start_idle_ns AS idle_ns,
    c.median_replay_ns <= :tiny_us * 1e3 AS is_tiny,
    p.wall_ns, p.steps, p.start_ns AS steady_ns,
    CASE WHEN p.busy_ns + p.queued_ns < :busy_low * p.wall_ns
      THEN 'warning' ELSE 'info' END AS severity
  FROM launch_cost AS c JOIN graph_payoff AS p USING (process_id, device_id)
  WHERE c.known AND p.known AND p.steps >= :steps_min
    AND p.wall_ns >= :wall_ms_min * 1e6),
worst AS (
  SELECT process_id, device_id, exec_id, thread_id, stack_id,
    ROW_NUMBER() OVER (PARTITION BY process_id, device_id
      ORDER BY idle_ns DESC, exec_id) AS place
  FROM cost
  WHERE is_tiny),
late AS (
  SELECT process_id, device_id, exec_id, thread_id, stack_id,
    ROW_NUMBER() OVER (PARTITION BY process_id, device_id
      ORDER BY first_idle_ns DESC, exec_id) AS place, *
  FROM cost
  WHERE first_launch_ns >= :first_times * median_launch_ns
    AND created_ns < steady_ns)
SELECT c.process_id, MIN(c.start_ns) AS start_ns, MAX(c.end_ns) AS end_ns,
  SUM(c.idle_ns) AS cost_ns, w.thread_id, w.stack_id, c.severity,
  'device ' || c.device_id AS subject,
  printf('%d launches of short graphs, each %.1f us of host time for %.1f us on the device: '
      || 'for %.0f %% of steady state it idles between call and start of the next one',
    SUM(c.launches),
    1.0 * SUM(c.launches * c.median_launch_ns) / SUM(c.launches) / 1e3,
    1.0 * SUM(c.launches * c.median_replay_ns) / SUM(c.launches) / 1e3,
    100.0 * SUM(c.idle_ns) / c.wall_ns) AS text,
  'graph_exec' AS evidence_table, w.exec_id AS evidence_id,
  'executables' AS ev1_label, COUNT(*) AS ev1_value,
  'nodes of one, mean' AS ev2_label,
  round(1.0 * SUM(c.launches * c.node_count) / SUM(c.launches), 1) AS ev2_value,
  'device idle inside the launch calls' AS ev3_label,
  SUM(c.call_idle_ns) AS ev3_value, 'ns' AS ev3_unit,
  'before the calls' AS ev4_label, SUM(c.host_idle_ns) AS ev4_value, 'ns' AS ev4_unit,
  'from call to start' AS ev5_label, SUM(c.start_idle_ns) AS ev5_value, 'ns' AS ev5_unit
FROM cost AS c JOIN worst AS w
  ON w.process_id = c.process_id AND w.device_id = c.device_id AND w.place = 1
WHERE c.is_tiny
GROUP BY c.process_id, c.device_id
HAVING SUM(c.launches) >= :launches_min
  AND SUM(c.waits) >= :waits_min * SUM(c.launches)
  AND SUM(c.idle_ns) > :idle_share * c.wall_ns
UNION ALL
SELECT c.process_id, c.start_ns, c.end_ns, c.call_idle_ns, c.thread_id, c.stack_id,
  c.severity, c.graph_name,
  printf('its launch takes the host %.1f us%s for %.1f us on the device, which waits inside '
      || 'these calls for %.1f %% of steady state', c.median_launch_ns / 1e3,
    CASE WHEN c.node_count THEN printf(' (%s, %.2f us each)', counted(c.node_count, 'node'),
      c.median_launch_ns / 1e3 / c.node_count) ELSE '' END,
    c.median_replay_ns / 1e3, 100.0 * c.call_idle_ns / c.wall_ns),
  'graph_exec', c.exec_id, 'launches', c.launches,
  'after which the device waited', c.waits,
  'updates of the executable', CASE WHEN c.updates THEN c.updates END, NULL,
  'device idle before the calls', c.host_idle_ns, 'ns',
  'from call to start', c.start_idle_ns, 'ns'
FROM cost AS c
WHERE NOT c.is_tiny AND c.launches >= :steps_min
  AND c.median_launch_ns > :launch_share * c.median_replay_ns
  AND c.call_idle_ns > :call_share * c.wall_ns
UNION ALL
SELECT l.process_id, MIN(l.start_ns), MAX(l.end_ns), SUM(l.first_idle_ns),
  MAX(CASE WHEN l.place = 1 THEN l.thread_id END),
  MAX(CASE WHEN l.place = 1 THEN l.stack_id END), l.severity,
  'device ' || l.device_id,
  printf('the first launch of %s comes in steady state and takes the host up to %.2f ms, '
      || 'later ones %.1f us: the device waits %.2f ms for these uploads',
    counted(COUNT(*), 'executable'), MAX(l.first_launch_ns) / 1e6,
    median(l.median_launch_ns) / 1e3, SUM(l.first_idle_ns) / 1e6),
  'graph_exec', MAX(CASE WHEN l.place = 1 THEN l.exec_id END),
  'executables', COUNT(*), 'first launch, median',
  CAST(median(l.first_launch_ns) AS INTEGER),
  'share of steady state', printf('%.1f %%', 100.0 * SUM(l.first_idle_ns) / l.wall_ns), NULL,
  NULL, NULL, NULL, NULL, NULL, NULL
FROM late AS l
GROUP BY l.process_id, l.device_id
HAVING SUM(l.first_idle_ns) > :first_share * l.wall_ns
ORDER BY process_id, subject, text;
-- test: many short graphs one after another, at exactly the least launches, waits and longest replay
INSERT INTO graph_payoff (process_id, steps, start_ns, wall_ns, busy_ns, queued_ns)
VALUES (1, 20, 500, 100000000, 30000000, 9000000);
INSERT INTO launch_cost (process_id, exec_id, graph_name, start_ns, end_ns, node_count, launches, waits,
  host_idle_ns, call_idle_ns, start_idle_ns, median_launch_ns, median_replay_ns, thread_id, stack_id)
VALUES (1, 4, 'patch', 1000, 9000, 2, 500, 250, 1000000, 8000000, 2000000, 6000, 2000, 1, 7),
  (1, 5, 'patch', 2000, 9900, 4, 500, 250, 2000000, 9000000, 3000000, 8000, 20000, 2, 8),
  (1, 6, 'large', 0, 99999, 4, 500, 0, 0, 0, 0, 8000, 20001, 3, 9);
-- expect: device 0: 1000 launches of short graphs, each 7.0 us of host time for 11.0 us on the device: for 22 % of steady state it idles between call and start of the next one | severity=warning cost_ns=22000000 start_ns=1000 end_ns=9900 stack_id=8 thread_id=2 evidence_id=5 ev1_value=2 ev2_value=3.0 ev3_value=17000000 ev4_value=3000000 ev5_value=5000000
-- test: informs where the device is busy enough or another process has its turn
INSERT INTO graph_payoff (process_id, steps, wall_ns, busy_ns, queued_ns)
VALUES (1, 20, 100000000, 41000000, 0), (2, 20, 100000000, 39000000, 1000000);
INSERT INTO launch_cost (process_id, exec_id, launches, waits, call_idle_ns, median_launch_ns, median_replay_ns)
VALUES (1, 4, 1000, 1000, 30000000, 6000, 2000), (2, 4, 1000, 1000, 20500000, 6000, 2000);
-- expect: device 0: 1000 launches of short graphs, each 6.0 us of host time for 2.0 us on the device: for 30 % of steady state it idles between call and start of the next one | severity=info
-- expect: device 0: 1000 launches of short graphs, each 6.0 us of host time for 2.0 us on the device: for 21 % of steady state it idles between call and start of the next one | severity=info
-- test: quiet with fewer launches, without waits, below the share, in a short job and where too little was recorded
INSERT INTO graph_payoff (process_id, steps, wall_ns, busy_ns, known)
VALUES (1, 20, 100000000, 30000000, 1), (2, 20, 100000000, 30000000, 1), (3, 20, 100000000, 30000000, 1),
  (4, 19, 100000000, 30000000, 1), (5, 20, 99999999, 30000000, 1), (6, 20, 100000000, 30000000, 0),
  (7, 20, 100000000, 30000000, 1);
INSERT INTO launch_cost (process_id, exec_id, launches, waits, host_idle_ns, call_idle_ns, median_launch_ns,
  median_replay_ns, known)
VALUES (1, 4, 999, 999, 0, 30000000, 6000, 2000, 1), (2, 4, 1000, 499, 0, 30000000, 6000, 2000, 1),
  (3, 4, 1000, 1000, 50000000, 20000000, 6000, 2000, 1), (4, 4, 1000, 1000, 0, 30000000, 6000, 2000, 1),
  (5, 4, 1000, 1000, 0, 30000000, 6000, 2000, 1), (6, 4, 1000, 1000, 0, 30000000, 6000, 2000, 1),
  (7, 4, 1000, 1000, 0, 30000000, 6000, 2000, 0);
-- expect: none
-- test: one launch that is long against what it starts
INSERT INTO graph_payoff (process_id, steps, wall_ns, busy_ns) VALUES (1, 20, 100000000, 60000000);
INSERT INTO launch_cost (process_id, exec_id, graph_name, start_ns, end_ns, node_count, updates, launches, waits,
  host_idle_ns, call_idle_ns, start_idle_ns, median_launch_ns, median_replay_ns, thread_id, stack_id)
VALUES (1, 4, 'step', 1000, 9000, 2000, 20, 20, 18, 4000000, 6000000, 200000, 300000, 2900000, 1, 7),
  (1, 5, 'other', 1000, 9000, NULL, 0, 20, 18, 4000000, 6000000, 200000, 300000, 2900000, 1, 7);
-- expect: other: its launch takes the host 300.0 us for 2900.0 us on the device, which waits inside these calls for 6.0 % of steady state | ev3_value=null
-- expect: step: its launch takes the host 300.0 us (2000 nodes, 0.15 us each) for 2900.0 us on the device, which waits inside these calls for 6.0 % of steady state | cost_ns=6000000 stack_id=7 severity=info evidence_id=4 ev1_value=20 ev2_value=18 ev3_value=20 ev4_value=4000000 ev5_value=200000
-- test: quiet where the launch is short against the replay, costs little, or comes too seldom
INSERT INTO graph_payoff (process_id, steps, wall_ns, busy_ns) VALUES (1, 20, 100000000, 60000000);
INSERT INTO launch_cost (process_id, exec_id, graph_name, launches, waits, call_idle_ns, median_launch_ns,
  median_replay_ns)
VALUES (1, 4, 'step', 20, 18, 6000000, 300000, 3000000),
  (1, 5, 'step', 20, 18, 5000000, 300000, 2900000),
  (1, 6, 'step', 19, 18, 6000000, 300000, 2900000),
  (1, 7, 'short', 20, 18, 6000000, 300000, 20000);
-- expect: none
-- test: first launches in the middle of the job
INSERT INTO graph_payoff (process_id, steps, start_ns, wall_ns, busy_ns) VALUES (1, 20, 500, 100000000, 60000000);
INSERT INTO launch_cost (process_id, exec_id, graph_name, created_ns, start_ns, end_ns, launches, median_launch_ns,
  median_replay_ns, first_launch_ns, first_idle_ns, thread_id, stack_id)
VALUES (1, 4, 'bucket', 499, 1000, 9000, 5, 10000, 900000, 100000, 400000, 1, 7),
  (1, 5, 'bucket', 400, 2000, 9500, 5, 20000, 900000, 800000, 700000, 2, 8),
  (1, 6, 'bucket', 500, 3000, 9600, 5, 10000, 900000, 900000, 900000, 3, 9),
  (1, 7, 'bucket', 400, 4000, 9700, 5, 10000, 900000, 99999, 900000, 3, 9);
-- expect: device 0: the first launch of 2 executables comes in steady state and takes the host up to 0.80 ms, later ones 15.0 us: the device waits 1.10 ms for these uploads | cost_ns=1100000 start_ns=1000 end_ns=9500 severity=info stack_id=8 thread_id=2 evidence_id=5 ev1_value=2 ev2_value=450000 ev3_value='1.1 %'
-- test: quiet where first launches cost the device no more than a hundredth of the time
INSERT INTO graph_payoff (process_id, steps, start_ns, wall_ns, busy_ns) VALUES (1, 20, 500, 100000000, 60000000);
INSERT INTO launch_cost (process_id, exec_id, graph_name, launches, median_launch_ns, median_replay_ns,
  first_launch_ns, first_idle_ns)
VALUES (1, 4, 'bucket', 5, 10000, 900000, 200000, 1000000);
-- expect: none
