-- SPDX-License-Identifier: Apache-2.0
-- rule: GD402 memory-jumps
-- title: Device memory jumps between steps
-- severity: warning
-- impact: slow
-- confidence: medium
-- root: none
-- needs: memory>=partial
-- param mem_jump: 0.15
-- param bytes_min: 65536
-- why: Steps that only replay graphs have no reason to allocate: their memory was laid out at capture. Jumps
--   from step to step mean that something bypasses the pool or grows with the input; each cudaMalloc and cudaFree
--   synchronises, fragmentation follows, and the next capture or the next peak may run out of memory. A step in
--   which a graph is captured lays out memory for all its replays and is left out (GD401 follows those). One change
--   that stays, such as the first long batch makes, is only mentioned.
-- fix: Allocate before the loop for the largest shape and reuse the buffers; take activations from the graph's
--   pool (torch.cuda.graph(g, pool=...)) or a stream-ordered pool (cudaMallocAsync with a raised release threshold);
--   pad inputs to few shapes; find the allocation by the stack shown. For checkpoints and evaluation that allocate
--   on purpose, mark them with a range named checkpoint or eval.
-- source: The threshold of 15 % is this project's default
-- message: device {device}: {what} in {count} of {steps} steady steps, the largest allocation {largest:bytes}
WITH steady AS (
  SELECT process_id, device_id, COUNT(*) AS steps,
    MAX(peak_bytes) - MIN(peak_bytes) >= :bytes_min
      OR SUM(alloc_bytes) AS changes
  FROM memory_step WHERE steady AND known
  GROUP BY process_id, device_id),
in_order AS (
  SELECT m.rowid AS row, ABS(m.peak_bytes - LAG(m.peak_bytes) OVER
      by_step) AS jump,
    MAX(m.peak_bytes, LAG(m.peak_bytes) OVER by_step) AS larger_bytes,
    m.replay_only AND m.alloc_count AND m.alloc_bytes >= :bytes_min
      AS allocates,
    COALESCE(t.captures, 0) AS captures
  FROM steady AS s CROSS JOIN memory_step AS m USING (process_id, device_id)
    LEFT JOIN step AS t USING (process_id, step)
  WHERE s.changes AND m.steady AND m.known
  WINDOW by_step AS (PARTITION BY m.process_id, m.device_id ORDER BY m.step)),
judged AS (
  SELECT o.*, COALESCE(o.captures = 0 AND o.jump >= :bytes_min
      AND o.jump > :mem_jump * o.larger_bytes, FALSE) AS jumps
  FROM in_order AS o),
hit AS (
  SELECT m.*, j.larger_bytes, j.jump, j.jumps, j.allocates,
    ROW_NUMBER() OVER (PARTITION BY m.process_id, m.device_id
      ORDER BY m.largest_alloc_bytes DESC, m.step) AS place
  FROM judged AS j CROSS JOIN memory_step AS m ON m.rowid = j.row
  WHERE j.jumps OR j.allocates AND j.captures = 0)
SELECT j.process_id, MIN(j.start_ns) AS start_ns, MAX(j.end_ns) AS end_ns,
  MIN(j.step) AS step, MAX(j.jump) AS cost_bytes, j.device_id AS device,
  COUNT(*) AS count, s.steps, MAX(j.largest_alloc_bytes) AS largest,
  CASE WHEN COUNT(*) > 1 THEN 'warning' ELSE 'info' END AS severity,
  CASE WHEN SUM(j.jumps) THEN printf(CASE WHEN SUM(j.jumps) > 1
      THEN 'peak memory jumps by up to %.0f %%'
      ELSE 'peak memory changes by %.0f %%' END,
      MAX(CASE WHEN j.jumps THEN 100.0 * j.jump / j.larger_bytes END))
    ELSE 'the driver allocates although only graphs run' END AS what,
  MAX(CASE WHEN j.place = 1 THEN j.largest_alloc_stack_id END) AS stack_id,
  MAX(CASE WHEN j.place = 1 THEN j.largest_alloc_thread_id END) AS thread_id,
  'highest peak of a step' AS ev1_label, MAX(j.peak_bytes) AS ev1_value,
  'bytes' AS ev1_unit,
  'largest jump' AS ev2_label, MAX(j.jump) AS ev2_value, 'bytes' AS ev2_unit,
  'allocations by the driver in these steps' AS ev3_label,
  SUM(j.alloc_count) AS ev3_value,
  'steps that only replay and still allocate' AS ev4_label,
  SUM(j.allocates) AS ev4_value
FROM hit AS j JOIN steady AS s USING (process_id, device_id)
GROUP BY j.process_id, j.device_id
ORDER BY j.process_id, j.device_id;
-- test: fires just above the jump and at the least size
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 344064, 0, 0, NULL, NULL, 0),
  (1, 0, 11, 1, 409600, 0, 0, 65536, 3, 0),
  (1, 0, 12, 1, 409600, 0, 0, NULL, NULL, 0);
-- expect: device 0: peak memory changes by 16 % in 1 of 3 steady steps, the largest allocation 64.0 KiB | cost_bytes=65536 step=11 stack_id=3 severity=info
-- test: a change and its way back are a warning, a change that stays is only mentioned
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 1),
  (1, 0, 11, 1, 2000000, 1, 1000000, 1000000, 3, 1),
  (1, 0, 12, 1, 2000000, 0, 0, NULL, NULL, 1),
  (2, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 0),
  (2, 0, 11, 1, 2000000, 1, 1000000, 1000000, 3, 0),
  (2, 0, 12, 1, 1000000, 0, 0, NULL, NULL, 0),
  (3, 0, 10, 1, 9000000, 1, 65536, 65536, 3, 1),
  (3, 0, 11, 1, 9000000, 1, 65536, 65536, 3, 1);
-- expect: device 0: peak memory changes by 50 % in 1 of 3 steady steps, the largest allocation 977 KiB | process_id=1 severity=info
-- expect: device 0: peak memory jumps by up to 50 % in 2 of 3 steady steps, the largest allocation 977 KiB | process_id=2 severity=warning
-- expect: device 0: the driver allocates although only graphs run in 2 of 2 steady steps, the largest allocation 64.0 KiB | process_id=3 severity=warning
-- test: names where the largest was allocated, of equals the first
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, largest_alloc_thread_id, replay_only)
VALUES (1, 0, 10, 1, 1000000, 0, 0, NULL, NULL, NULL, 0),
  (1, 0, 11, 1, 2000000, 1, 1000000, 1000000, 3, 31, 0),
  (1, 0, 12, 1, 4000000, 1, 2000000, 2000000, 5, 51, 0),
  (1, 0, 13, 1, 8000000, 2, 4000000, 2000000, 4, 41, 0);
-- expect: device 0: peak memory jumps by up to 50 % in 3 of 4 steady steps, the largest allocation 1.91 MiB | stack_id=5 thread_id=51 ev3_value=4 severity=warning
-- test: fires downwards
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 0),
  (1, 0, 11, 1, 845000, 0, 0, NULL, NULL, 0);
-- expect: device 0: peak memory changes by 16 % in 1 of 2 steady steps, the largest allocation unknown | severity=info
-- test: a jump between 15 and 16 percent fires, one between 14 and 15 does not
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 0),
  (1, 0, 11, 1, 845000, 0, 0, NULL, NULL, 0),
  (2, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 0),
  (2, 0, 11, 1, 855000, 0, 0, NULL, NULL, 0);
-- expect: device 0: peak memory changes by 16 % in 1 of 2 steady steps, the largest allocation unknown | process_id=1 severity=info
-- test: quiet at exactly the jump, and one byte below the least size
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 0),
  (1, 0, 11, 1, 850000, 0, 0, NULL, NULL, 0),
  (2, 0, 10, 1, 100000, 0, 0, NULL, NULL, 0),
  (2, 0, 11, 1, 34465, 0, 0, NULL, NULL, 0);
-- expect: none
-- test: fires at exactly the least size, one byte more too
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 100000, 0, 0, NULL, NULL, 0),
  (1, 0, 11, 1, 34464, 0, 0, NULL, NULL, 0),
  (2, 0, 10, 1, 100000, 0, 0, NULL, NULL, 0),
  (2, 0, 11, 1, 34463, 0, 0, NULL, NULL, 0);
-- expect: device 0: peak memory changes by 66 % in 1 of 2 steady steps, the largest allocation unknown | severity=info
-- expect: device 0: peak memory changes by 66 % in 1 of 2 steady steps, the largest allocation unknown | severity=info
-- test: fires when the driver allocates in a step that only replays
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 9000000, 0, 0, NULL, NULL, 1),
  (1, 0, 11, 1, 9000000, 1, 65536, 65536, 3, 1);
-- expect: device 0: the driver allocates although only graphs run in 1 of 2 steady steps, the largest allocation 64.0 KiB | stack_id=3 ev3_value=1 severity=info
-- test: quiet for small, stream-ordered and eager allocations
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 9000000, 1, 65535, 65535, 3, 1),
  (1, 0, 11, 1, 9000000, 0, 99999, 99999, 3, 1),
  (1, 0, 12, 1, 9000000, 1, 99999, 99999, 3, 0);
-- expect: none
-- test: quiet in a step that captures a graph, not in the next
INSERT INTO step (process_id, step, start_ns, end_ns, method, kind, replays, captures)
VALUES (1, 11, 0, 1, 'launch_period', 'steady', 1, 1), (1, 12, 1, 2, 'launch_period', 'steady', 1, 0),
  (2, 11, 0, 1, 'launch_period', 'steady', 1, 1), (2, 12, 1, 2, 'launch_period', 'steady', 1, 0);
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only)
VALUES (1, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 0),
  (1, 0, 11, 1, 2000000, 1, 1000000, 1000000, 3, 1),
  (1, 0, 12, 1, 2000000, 0, 0, NULL, NULL, 1),
  (2, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 0),
  (2, 0, 11, 1, 2000000, 1, 1000000, 1000000, 3, 1),
  (2, 0, 12, 1, 4000000, 1, 2000000, 2000000, 4, 0);
-- expect: device 0: peak memory changes by 50 % in 1 of 3 steady steps, the largest allocation 1.91 MiB | process_id=2 step=12 stack_id=4 severity=info
-- test: quiet in warm-up and where allocations were not recorded
INSERT INTO memory_step (process_id, device_id, step, steady, peak_bytes, alloc_count, alloc_bytes,
  largest_alloc_bytes, largest_alloc_stack_id, replay_only, known)
VALUES (1, 0, 10, 0, 1000000, 0, 0, NULL, NULL, 0, 1),
  (1, 0, 11, 0, 2000000, 0, 0, NULL, NULL, 0, 1),
  (2, 0, 10, 1, 1000000, 0, 0, NULL, NULL, 0, 0),
  (2, 0, 11, 1, 2000000, 0, 0, NULL, NULL, 0, 0);
-- expect: none
