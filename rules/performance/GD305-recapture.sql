-- SPDX-License-Identifier: Apache-2.0
-- rule: GD305 recapture
-- title: Graphs are captured again and again
-- severity: warning
-- impact: slow
-- confidence: high
-- root: step
-- needs: callbacks>=partial
-- param per_steps: 20
-- param captures_min: 2
-- param reuse_min: 0.92
-- param max_graphs: 16
-- param share_min: 0.05
-- param share_error: 0.50
-- param steps_min: 5
-- why: A graph pays off by being replayed many times. Here one region is captured again after warm-up: each capture
--   and instantiation costs host time while the device idles, and every further executable costs memory. What a region
--   captures in the step of its first capture, such as one graph for each layer, is not counted.
-- fix: See what changes. Only pointers: keep the inputs in place and copy into them (static_input.copy_()). Sizes: pad
--   to a few shapes, or one graph a bucket captured before the loop (torch.compile: cudagraph_skip_dynamic_graphs,
--   dynamic=False). Values: keep them in device memory (capturable=True, tensor learning rate). Topology: the code takes
--   another path; capture each path once, or use conditional nodes. Nothing: keep the executable and replay it.
-- source: One capture in 20 steps, hit rate 92 %, 16 graphs a region: this project's defaults
-- message: {region}: captured {count:count time} in {steps} steady steps, {live:count executable} at once; from one capture to the next {change}
WITH first AS (
  SELECT f.process_id, f.region, f.step, MAX(f.live_execs) AS live
  FROM recapture AS f JOIN recapture AS o USING (process_id, region)
  WHERE o.ordinal = 1 AND f.step IS o.step
  GROUP BY f.process_id, f.region),
again AS (
  SELECT r.process_id, r.region, COUNT(*) AS count, SUM(r.cost_ns) AS cost_ns,
    MIN(r.start_ns) AS start_ns, MAX(r.end_ns) AS end_ns, MAX(r.live_execs) AS live,
    MAX(r.live_execs - MAX(COALESCE(f.live, 1), 1) + 1) AS piled,
    MAX(r.region_replays) AS replays, MAX(r.capture_id) AS capture_id,
    MAX(r.stack_id) AS stack_id, MAX(r.thread_id) AS thread_id,
    SUM(r.change = 'topology') AS topology, SUM(r.change = 'sizes') AS sizes,
    SUM(r.change = 'values') AS changed_values, SUM(r.change = 'pointers') AS pointers
  FROM recapture AS r LEFT JOIN first AS f USING (process_id, region)
  WHERE r.steady AND r.known AND NOT r.updates_only
    AND r.previous_capture_id IS NOT NULL AND COALESCE(r.step <> f.step, TRUE)
  GROUP BY r.process_id, r.region)
SELECT a.process_id, a.start_ns, a.end_ns, a.cost_ns, a.region, a.count,
  s.steps, a.live, a.stack_id, a.thread_id,
  CASE WHEN a.topology THEN 'other nodes run'
    WHEN a.sizes THEN 'launch shapes or sizes differ'
    WHEN a.changed_values THEN 'scalar values differ'
    WHEN a.pointers THEN 'only addresses differ'
    ELSE 'nothing differs' END AS change,
  CASE WHEN a.cost_ns > :share_error * (s.end_ns - s.start_ns)
    THEN 'error' ELSE 'warning' END AS severity,
  'capture' AS evidence_table, a.capture_id AS evidence_id,
  'first difference' AS ev1_label,
  (SELECT r.change_detail FROM recapture AS r
    WHERE r.process_id = a.process_id AND r.capture_id = a.capture_id) AS ev1_value,
  'share of steady state' AS ev2_label,
  printf('%.1f %%', 100.0 * a.cost_ns / (s.end_ns - s.start_ns)) AS ev2_value,
  'replays of the region in steady state' AS ev3_label, a.replays AS ev3_value
FROM again AS a JOIN steady_state AS s USING (process_id)
WHERE s.steps >= :steps_min AND a.count >= :captures_min
  AND (a.count * :per_steps >= s.steps
    OR a.replays - a.count < :reuse_min * a.replays
    OR a.piled > :max_graphs
    OR a.cost_ns > :share_min * (s.end_ns - s.start_ns))
ORDER BY a.process_id, a.region;
-- test: fires at one capture in twenty steps
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 40);
INSERT INTO recapture (process_id, capture_id, region, previous_capture_id, change, change_detail, steady,
  start_ns, end_ns, cost_ns, live_execs, region_replays, stack_id)
VALUES (1, 2, 'step', 1, 'pointers', NULL, 1, 100, 200, 100, 1, 1000, 7),
  (1, 3, 'step', 2, 'pointers', 'node 0 (gemm) points elsewhere', 1, 300, 400, 100, 2, 1000, 7);
-- expect: step: captured 2 times in 40 steady steps, 2 executables at once; from one capture to the next only addresses differ | cost_ns=200 severity=warning stack_id=7 ev1_value='node 0 (gemm) points elsewhere'
-- test: quiet at fewer captures a step, good reuse, few executables and little time
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 4000, 41),
  (2, 0, 4000, 20);
INSERT INTO recapture (process_id, capture_id, region, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays)
VALUES (1, 2, 'step', 1, 'sizes', 1, 100, 200, 100, 1, 25),
  (1, 3, 'step', 2, 'sizes', 1, 300, 400, 100, 16, 25),
  (2, 2, 'step', 1, 'sizes', 1, 100, 200, 100, 16, 25);
-- expect: none
-- test: fires when replays reuse too little
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 41);
INSERT INTO recapture (process_id, capture_id, region, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays)
VALUES (1, 2, 'step', 1, 'sizes', 1, 100, 200, 100, 1, 24),
  (1, 3, 'step', 2, 'topology', 1, 300, 400, 100, 1, 24);
-- expect: step: captured 2 times in 41 steady steps, 1 executable at once; from one capture to the next other nodes run
-- test: fires above sixteen executables
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 41);
INSERT INTO recapture (process_id, capture_id, region, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays)
VALUES (1, 2, 'step', 1, 'sizes', 1, 100, 200, 100, 16, 900),
  (1, 3, 'step', 2, 'values', 1, 300, 400, 100, 17, 900);
-- expect: step: captured 2 times in 41 steady steps, 17 executables at once; from one capture to the next launch shapes or sizes differ
-- test: fires when captures take more than a twentieth of the time
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 4000, 41);
INSERT INTO recapture (process_id, capture_id, region, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays)
VALUES (1, 2, 'step', 1, 'same', 1, 100, 200, 100, 1, 900),
  (1, 3, 'step', 2, 'values', 1, 300, 400, 120, 1, 900);
-- expect: step: captured 2 times in 41 steady steps, 1 executable at once; from one capture to the next scalar values differ | severity=warning
-- test: an error when they take more than half, a warning at exactly half, and nothing that differs
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 2190, 5),
  (2, 0, 2200, 5),
  (3, 0, 2600, 5);
INSERT INTO recapture (process_id, capture_id, region, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays)
VALUES (1, 2, 'step', 1, 'same', 1, 100, 200, 500, 1, 900),
  (1, 3, 'step', 2, 'same', 1, 300, 400, 600, 1, 900),
  (2, 2, 'step', 1, 'same', 1, 100, 200, 500, 1, 900),
  (2, 3, 'step', 2, 'same', 1, 300, 400, 600, 1, 900),
  (3, 2, 'step', 1, 'same', 1, 100, 200, 500, 1, 900),
  (3, 3, 'step', 2, 'same', 1, 300, 400, 600, 1, 900);
-- expect: step: captured 2 times in 5 steady steps, 1 executable at once; from one capture to the next nothing differs | severity=error
-- expect: step: captured 2 times in 5 steady steps, 1 executable at once; from one capture to the next nothing differs | severity=warning
-- expect: step: captured 2 times in 5 steady steps, 1 executable at once; from one capture to the next nothing differs | severity=warning
-- test: quiet for a ladder in warm-up, first captures, a single one, too few steps and where calls were not recorded
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000, 5),
  (2, 0, 1000, 4),
  (3, 0, 1000, 5),
  (4, 0, 1000, 5),
  (5, 0, 1000, 5);
INSERT INTO recapture (process_id, capture_id, region, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays, known)
VALUES (1, 2, 'step', 1, 'sizes', 0, 100, 200, 900, 20, 9, 1),
  (1, 3, 'step', 2, 'sizes', 0, 100, 200, 900, 20, 9, 1),
  (2, 2, 'step', 1, 'sizes', 1, 100, 200, 900, 20, 9, 1),
  (2, 3, 'step', 2, 'sizes', 1, 100, 200, 900, 20, 9, 1),
  (3, 2, 'step', 1, 'sizes', 1, 100, 200, 900, 20, 9, 0),
  (3, 3, 'step', 2, 'sizes', 1, 100, 200, 900, 20, 9, 0),
  (4, 2, 'step', NULL, 'first', 1, 100, 200, 900, 20, 9, 1),
  (4, 3, 'other', NULL, 'first', 1, 100, 200, 900, 20, 9, 1),
  (5, 3, 'step', 2, 'sizes', 1, 100, 200, 900, 20, 9, 1);
-- expect: none
-- test: quiet for captures that update an executable
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 40);
INSERT INTO recapture (process_id, capture_id, region, previous_capture_id, change, steady, start_ns, end_ns,
  cost_ns, live_execs, region_replays, updates_only)
VALUES (1, 2, 'step', 1, 'values', 1, 100, 200, 100, 1, 1000, 1),
  (1, 3, 'step', 2, 'values', 1, 300, 400, 100, 1, 1000, 1);
-- expect: none
-- test: quiet for the graphs of a region's first capturing step; what is captured later counts, and piles up on them
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 60), (2, 0, 1000000, 60), (3, 0, 1000000, 60),
  (4, 0, 1000000, 60);
INSERT INTO recapture (process_id, capture_id, region, ordinal, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays, step)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
SELECT p.value, i, 'layers', i, NULLIF(i - 1, 0), 'same', 1, 100 * i, 100 * i + 9,
  9, i, 1000, IIF(p.value = 4, NULL, 11)
FROM n, json_each('[1, 2, 3, 4]') AS p;
INSERT INTO recapture (process_id, capture_id, region, ordinal, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays, step)
WITH RECURSIVE n (i) AS (SELECT 21 UNION ALL SELECT i + 1 FROM n WHERE i < 36)
SELECT p.value, i, 'layers', i, i - 1, 'same', 1, 100 * i, 100 * i + 9,
  9, IIF(p.value = 3, 20, i), 1000, 12
FROM n, json_each('[2, 3]') AS p WHERE p.value = 3 OR i < 23;
-- expect: layers: captured 16 times in 60 steady steps, 20 executables at once; from one capture to the next nothing differs | process_id=3
-- expect: layers: captured 19 times in 60 steady steps, 20 executables at once; from one capture to the next nothing differs | process_id=4
-- test: the graphs of the first capturing step are one of the sixteen
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 900), (2, 0, 1000000, 900);
INSERT INTO recapture (process_id, capture_id, region, ordinal, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays, step)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 36)
SELECT p.value, i, 'layers', i, NULLIF(i - 1, 0), 'same', i > 20, 100 * i, 100 * i + 9,
  9, i, 10000, IIF(i <= 20, NULL, 100 + i)
FROM n, json_each('[1, 2]') AS p WHERE p.value = 1 OR i <= 35;
-- expect: layers: captured 16 times in 900 steady steps, 36 executables at once; from one capture to the next nothing differs | process_id=1
-- test: the step of the second capture is not the first capturing step
INSERT INTO steady_state (process_id, start_ns, end_ns, steps)
VALUES (1, 0, 1000000, 40);
INSERT INTO recapture (process_id, capture_id, region, ordinal, previous_capture_id, change, steady, start_ns,
  end_ns, cost_ns, live_execs, region_replays, step)
VALUES (1, 1, 'step', 1, NULL, 'first', 0, 10, 20, 10, 1, 1000, NULL),
  (1, 2, 'step', 2, 1, 'values', 1, 100, 200, 100, 1, 1000, 5),
  (1, 3, 'step', 3, 2, 'values', 1, 300, 400, 100, 1, 1000, 6);
-- expect: step: captured 2 times in 40 steady steps, 1 executable at once; from one capture to the next scalar values differ
