-- SPDX-License-Identifier: Apache-2.0
-- rule: GD307 graphs-do-not-pay
-- title: Graphs do not pay off here: low coverage or not launch-bound
-- severity: info
-- impact: slow
-- confidence: medium
-- root: step
-- needs: eager_kernel_activity>=partial
-- param coverage_min: 0.50
-- param gain_max: 1.07
-- param idle_min: 0.15
-- param owned_min: 0.50
-- param busy_min: 0.85
-- param busy_low: 0.40
-- param baseline_min: 0.90
-- param steps_min: 20
-- param wall_ms_min: 200
-- why: A graph takes the host's cost of single launches away, no more. It gains nothing where the device has work queued
--   all the time (not launch-bound), and little where it holds only a small part of the work while the device waits for
--   the host in the rest (low coverage). What the graphs themselves could gain shows before they exist: the same kernels,
--   launched singly in the warm-up. Idle time before single launches counts as launch-bound up to 500 us each; what a wait
--   of the host (GD302), its input (GD310), updates (GD305), communication or longer host work takes does not, nor does the
--   time before replays (GD301, GD308). Where a capture failed, a region fell back (GD306) or only this rank lacks the graph
--   (GD408), that comes first.
-- fix: Low coverage: move the boundary of the capture to where the device waits, from one layer to the whole
--   forward and backward pass and the optimizer (Megatron --cuda-graph-impl full_iteration, torch.cuda.make_graphed_callables
--   over all modules, torch.compile mode="reduce-overhead"). Not launch-bound: leave it as it is; larger kernels,
--   fused ones (torch.compile), lower precision or less communication gain more than a graph, and a capture that is in the
--   way (static shapes, memory) can go.
-- source: The bound is wall time over busy time; the thresholds are this project's defaults
-- message: device {device}: {text}
WITH judged AS (
  SELECT p.*, 1.0 * p.graph_ns / MAX(1, p.busy_ns) AS coverage,
    1.0 * p.busy_ns / p.wall_ns AS busy,
    1.0 * (p.busy_ns - p.exposed_comm_ns) / p.wall_ns AS computing,
    1.0 * p.single_idle_ns / p.wall_ns AS waiting,
    p.baseline_ns AND p.baseline_ns >= :baseline_min * p.baseline_replay_ns AS has_baseline
  FROM graph_payoff AS p
  WHERE p.known AND p.devices = 1 AND p.steps >= :steps_min
    AND p.wall_ns >= :wall_ms_min * 1e6
    AND NOT EXISTS (SELECT 1 FROM fallback AS f
      WHERE f.process_id = p.process_id AND f.known AND f.reason <> 'beside')
    AND NOT EXISTS (SELECT 1 FROM capture_outcome AS c
      WHERE c.process_id = p.process_id AND c.state <> 'ended_ok')
    AND NOT EXISTS (SELECT 1 FROM rank_graph AS r
      WHERE r.other_process_id = p.process_id AND r.known)),
sorted AS (
  SELECT j.*, CASE
    WHEN j.coverage < :coverage_min AND j.waiting > :idle_min
      AND j.single_idle_ns > :owned_min * (j.wall_ns - j.busy_ns) THEN 'idle'
    WHEN j.coverage < :coverage_min
      AND (j.busy_ns - j.exposed_comm_ns) * :gain_max >= j.wall_ns THEN 'busy'
    WHEN j.coverage >= :coverage_min AND j.has_baseline
      AND j.baseline_busy * :gain_max >= 1 AND j.busy >= :busy_min THEN 'baseline'
    END AS kind
  FROM judged AS j),
told AS (
  SELECT s.*, s.kind = 'idle' AND s.replays
    AND s.busy_ns + s.queued_ns < :busy_low * s.wall_ns AS is_main
  FROM sorted AS s
  WHERE s.kind IS NOT NULL),
region AS (
  SELECT s.process_id, s.device_id, u.stack_id, u.name,
    ROW_NUMBER() OVER (PARTITION BY s.process_id, s.device_id
      ORDER BY CASE WHEN s.kind = 'idle' THEN u.place ELSE -u.busy_ns END) AS place,
    printf('%s (%s): idle %.1f %%, busy %.1f %% of a step, launches: %g', u.name,
      u.kernels, 100.0 * u.single_idle_ns / s.wall_ns,
      100.0 * u.busy_ns / s.wall_ns, round(1.0 * u.launches / s.steps, 1)) AS text
  FROM sorted AS s JOIN uncaptured_region AS u USING (process_id, device_id)
  WHERE s.kind IN ('idle', 'busy'))
SELECT s.process_id, s.start_ns, s.end_ns, s.device_id AS device,
  CASE WHEN s.kind = 'baseline' THEN 0 ELSE s.single_idle_ns END AS cost_ns,
  s.step, s.thread_id,
  CASE WHEN s.kind = 'idle' THEN COALESCE(a.stack_id, s.stack_id)
    ELSE s.stack_id END AS stack_id,
  CASE WHEN s.replays THEN printf('%.1f %% of its busy time lies in graphs', 100 * s.coverage)
    ELSE 'nothing runs in graphs' END
  || CASE s.kind
    WHEN 'idle' THEN printf(', and for %.0f %% of a step it waits for single launches, most %s: '
        || 'capturing them gains at most %.2fx', 100 * s.waiting,
      CASE WHEN a.name LIKE 'after %' OR a.name IS NULL THEN COALESCE(a.name, 'of them')
        ELSE 'in ' || a.name END,
      1 / (1 - s.waiting))
    WHEN 'busy' THEN printf(', but it %s %.1f %% of a step with single launches: capturing '
        || 'them gains at most %.2fx',
      CASE WHEN s.exposed_comm_ns THEN 'computes' ELSE 'is busy' END,
      100 * s.computing, 1 / s.computing)
    ELSE printf(', but launched singly the same kernels kept it busy %.1f %% of their time: '
        || 'the graphs gain at most %.2fx', 100 * s.baseline_busy, 1 / s.baseline_busy)
    END AS text,
  CASE WHEN s.is_main THEN 'warning' ELSE 'info' END AS severity, s.is_main,
  'device' AS evidence_table, s.device_id AS evidence_id,
  'most single work' AS ev1_label, a.text AS ev1_value,
  'then' AS ev2_label, b.text AS ev2_value,
  'then' AS ev3_label, c.text AS ev3_value,
  'step on the device' AS ev4_label, s.wall_ns / s.steps AS ev4_value, 'ns' AS ev4_unit,
  'busy' AS ev5_label, printf('%.1f %%', 100 * s.busy) AS ev5_value,
  'idle otherwise' AS ev6_label,
  printf('%.1f %% replays, %.1f %% waits of the host, %.1f %% input, %.1f %% other',
    100.0 * (s.replay_host_idle_ns + s.replay_call_idle_ns + s.replay_start_idle_ns) / s.wall_ns,
    100.0 * s.sync_idle_ns / s.wall_ns, 100.0 * s.data_idle_ns / s.wall_ns,
    100.0 * (s.call_idle_ns + s.other_idle_ns) / s.wall_ns) AS ev6_value,
  'host time in launches of graphs a step' AS ev7_label,
  CASE WHEN s.replays THEN s.graph_launch_ns / s.steps END AS ev7_value, 'ns' AS ev7_unit,
  'runs before the capture' AS ev8_label,
  CASE WHEN s.kind = 'baseline' THEN s.baseline_runs END AS ev8_value,
  'host time in their launch calls against kernel time' AS ev9_label,
  CASE WHEN s.kind = 'baseline' THEN printf('%.1f %%', 100 * s.baseline_launch_share) END AS ev9_value
FROM told AS s
LEFT JOIN region AS a ON a.process_id = s.process_id AND a.device_id = s.device_id AND a.place = 1
LEFT JOIN region AS b ON b.process_id = s.process_id AND b.device_id = s.device_id AND b.place = 2
LEFT JOIN region AS c ON c.process_id = s.process_id AND c.device_id = s.device_id AND c.place = 3
ORDER BY s.process_id, s.device_id;
-- test: most of a step waits for single launches, and the graph is elsewhere
INSERT INTO graph_payoff (process_id, devices, steps, start_ns, end_ns, wall_ns, busy_ns, graph_ns, queued_ns,
  replays, single_idle_ns, replay_call_idle_ns, sync_idle_ns, data_idle_ns, other_idle_ns, graph_launch_ns,
  step, thread_id, stack_id)
VALUES (1, 1, 20, 5, 300000005, 200000000, 60000000, 6000000, 19000000, 20, 120000000, 4000000, 2000000,
  6000000, 8000000, 200000, 3, 4, 9);
INSERT INTO uncaptured_region (process_id, place, name, is_range, kernels, launches, busy_ns, single_idle_ns, stack_id)
VALUES (1, 1, 'encoder', 1, 'gemm, softmax', 6000, 50000000, 100000000, 7),
  (1, 2, 'loss', 1, 'mean', 40, 1000000, 19000000, 8),
  (1, 3, 'after head', 0, 'argmax', 20, 3000000, 1000000, 6);
-- expect: device 0: 10.0 % of its busy time lies in graphs, and for 60 % of a step it waits for single launches, most in encoder: capturing them gains at most 2.50x | severity=warning is_main=1 cost_ns=120000000 stack_id=7 thread_id=4 step=3 ev1_value='encoder (gemm, softmax): idle 50.0 %, busy 25.0 % of a step, launches: 300' ev2_value='loss (mean): idle 9.5 %, busy 0.5 % of a step, launches: 2' ev3_value='after head (argmax): idle 0.5 %, busy 1.5 % of a step, launches: 1' ev4_value=10000000 ev5_value='30.0 %' ev6_value='2.0 % replays, 1.0 % waits of the host, 3.0 % input, 4.0 % other' ev7_value=10000 ev8_value=null
-- test: informs where the device is busy half of the time, where others have their turn, and where there is no graph
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, queued_ns, replays,
  single_idle_ns, stack_id)
VALUES (1, 1, 20, 200000000, 82000000, 0, 0, 20, 110000000, 9),
  (2, 1, 20, 200000000, 60000000, 0, 21000000, 20, 110000000, 9),
  (3, 1, 20, 200000000, 60000000, 0, 0, 0, 110000000, 9);
INSERT INTO uncaptured_region (process_id, place, name, kernels, single_idle_ns)
VALUES (2, 1, 'after cycle', 'gemm', 100);
-- expect: device 0: 0.0 % of its busy time lies in graphs, and for 55 % of a step it waits for single launches, most of them: capturing them gains at most 2.22x | severity=info is_main=0 stack_id=9
-- expect: device 0: 0.0 % of its busy time lies in graphs, and for 55 % of a step it waits for single launches, most after cycle: capturing them gains at most 2.22x | severity=info process_id=2
-- expect: device 0: nothing runs in graphs, and for 55 % of a step it waits for single launches, most of them: capturing them gains at most 2.22x | severity=info ev7_value=null
-- test: busy anyway: nothing to gain outside of the graphs
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, replays, single_idle_ns, stack_id)
VALUES (1, 1, 20, 200000000, 188000000, 18800000, 20, 12000000, 9);
INSERT INTO uncaptured_region (process_id, place, name, is_range, kernels, launches, busy_ns, single_idle_ns, stack_id)
VALUES (1, 1, 'loss', 1, 'mean', 20, 2000000, 12000000, 8),
  (1, 2, 'encoder', 1, 'gemm', 20, 160000000, 0, 7);
-- expect: device 0: 10.0 % of its busy time lies in graphs, but it is busy 94.0 % of a step with single launches: capturing them gains at most 1.06x | severity=info cost_ns=12000000 stack_id=9 ev1_value='encoder (gemm): idle 0.0 %, busy 80.0 % of a step, launches: 1' ev8_value=null
-- test: communication is not the work that graphs could start sooner
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, exposed_comm_ns, replays)
VALUES (1, 1, 20, 200000000, 199000000, 4000000, 0),
  (2, 1, 20, 200000000, 199000000, 14000000, 0);
-- expect: device 0: nothing runs in graphs, but it computes 97.5 % of a step with single launches: capturing them gains at most 1.03x
-- test: the graphs hold the work, but before they existed the device was busy as well
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, replays, baseline_ns,
  baseline_replay_ns, baseline_busy, baseline_runs, baseline_launch_share)
VALUES (1, 1, 20, 200000000, 196000000, 98000000, 20, 90, 100, 0.98, 5, 0.031);
UPDATE graph_payoff SET single_idle_ns = 1000000;
-- expect: device 0: 50.0 % of its busy time lies in graphs, but launched singly the same kernels kept it busy 98.0 % of their time: the graphs gain at most 1.02x | severity=info ev8_value=5 ev9_value='3.1 %' cost_ns=0 ev1_value=null
-- test: just inside of each threshold
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, queued_ns, replays, single_idle_ns,
  baseline_ns, baseline_replay_ns, baseline_busy, baseline_runs)
VALUES (1, 1, 20, 200000000, 60000000, 29700000, 20000000, 20, 120000000, 0, 0, NULL, 0),
  (2, 1, 20, 200000000, 160000000, 0, 0, 20, 31000000, 0, 0, NULL, 0),
  (3, 1, 20, 200000000, 100000000, 0, 0, 20, 50500000, 0, 0, NULL, 0),
  (4, 1, 20, 200000000, 170000000, 100000000, 0, 20, 0, 100, 100, 1 / 1.07, 2),
  (5, 1, 20, 200000000, 171000000, 100000000, 0, 20, 0, 100, 100, 0.98, 2),
  (6, 1, 20, 214000000, 200000000, 0, 0, 0, 14000000, 0, 0, NULL, 0);
-- expect: device 0: 49.5 % of its busy time lies in graphs, and for 60 % of a step it waits for single launches, most of them: capturing them gains at most 2.50x | severity=info
-- expect: device 0: 0.0 % of its busy time lies in graphs, and for 16 % of a step it waits for single launches, most of them: capturing them gains at most 1.18x
-- expect: device 0: 0.0 % of its busy time lies in graphs, and for 25 % of a step it waits for single launches, most of them: capturing them gains at most 1.34x
-- expect: device 0: 58.8 % of its busy time lies in graphs, but launched singly the same kernels kept it busy 93.5 % of their time: the graphs gain at most 1.07x
-- expect: device 0: 58.5 % of its busy time lies in graphs, but launched singly the same kernels kept it busy 98.0 % of their time: the graphs gain at most 1.02x
-- expect: device 0: nothing runs in graphs, but it is busy 93.5 % of a step with single launches: capturing them gains at most 1.07x
-- test: quiet where the graphs' own gain is not known, is larger, or the device is idle now
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, replays, baseline_ns,
  baseline_replay_ns, baseline_busy, baseline_runs)
VALUES (1, 1, 20, 200000000, 198000000, 180000000, 20, 89, 100, 0.98, 5),
  (2, 1, 20, 200000000, 198000000, 180000000, 20, 100, 100, 0.93, 5),
  (3, 1, 20, 200000000, 169000000, 160000000, 20, 100, 100, 0.98, 5),
  (4, 1, 20, 200000000, 198000000, 180000000, 20, 0, 0, NULL, 0);
-- expect: none
-- test: quiet where the device is idle for other reasons: input, waits of the host, replays
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, replays, single_idle_ns,
  sync_idle_ns)
VALUES (1, 1, 20, 200000000, 100000000, 9000000, 20, 50000000, 50000000),
  (2, 1, 20, 200000000, 160000000, 9000000, 20, 30000000, 10000000),
  (3, 1, 20, 200000000, 160000000, 9000000, 20, 29000000, 11000000);
-- expect: none
-- test: quiet where graphs hold half of the work and the device waits in the rest
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, replays, single_idle_ns)
VALUES (1, 1, 20, 200000000, 60000000, 30000000, 20, 120000000);
-- expect: none
-- test: quiet in short jobs, on several devices, where too little was recorded, after a failed capture or a fallback, on a rank that lacks the graph
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, replays, single_idle_ns, known)
VALUES (1, 1, 19, 200000000, 60000000, 0, 20, 120000000, 1),
  (2, 1, 20, 199999999, 60000000, 0, 20, 120000000, 1),
  (3, 2, 20, 200000000, 60000000, 0, 20, 120000000, 1),
  (4, 1, 20, 200000000, 60000000, 0, 20, 120000000, 0),
  (5, 1, 20, 200000000, 60000000, 0, 20, 120000000, 1),
  (6, 1, 20, 200000000, 60000000, 0, 20, 120000000, 1),
  (7, 1, 20, 200000000, 60000000, 0, 20, 120000000, 1);
INSERT INTO rank_graph (process_id, capture_id, other_process_id) VALUES (1, 1, 7);
INSERT INTO capture_outcome (process_id, capture_id, state) VALUES (5, 1, 'ended_error');
INSERT INTO fallback (process_id, region, eager_runs) VALUES (6, 'step', 9);
-- expect: none
-- test: captures that ended well, fallbacks that are not known or are none, missing graphs that are not known, and those of others hold nothing back
INSERT INTO graph_payoff (process_id, devices, steps, wall_ns, busy_ns, graph_ns, replays, single_idle_ns)
VALUES (1, 1, 20, 200000000, 100000000, 10000000, 20, 60000000);
INSERT INTO capture_outcome (process_id, capture_id, state) VALUES (1, 1, 'ended_ok'), (2, 1, 'ended_error');
INSERT INTO fallback (process_id, region, eager_runs, known, reason)
VALUES (1, 'step', 9, 0, 'unknown'), (1, 'eval', 9, 1, 'beside'), (2, 'step', 9, 1, 'unknown');
INSERT INTO rank_graph (process_id, capture_id, other_process_id, known) VALUES (2, 1, 1, 0), (1, 1, 2, 1);
-- expect: device 0: 10.0 % of its busy time lies in graphs, and for 30 % of a step it waits for single launches, most of them: capturing them gains at most 1.43x | severity=info
