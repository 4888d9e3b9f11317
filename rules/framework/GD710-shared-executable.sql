-- SPDX-License-Identifier: Apache-2.0
-- rule: GD710 shared-executable
-- title: One executable serves several micro-batches at a time
-- severity: error
-- impact: wrong
-- confidence: high
-- root: exec
-- needs: node_params>=partial, callbacks>=partial
-- param steps_min: 3
-- why: A graph writes to the addresses of its capture. When the forward graph runs again before the backward graph has
--   used what the first run left, the second micro-batch overwrites the first: the backward pass computes the gradients
--   of one micro-batch twice. Pipeline schedules keep several micro-batches in flight on all stages but the last.
--   Where the memory is no graph pool's but the job's own, two runs in a row may be meant and are only mentioned.
-- fix: Capture one graph for each layer (or stage) and micro-batch in flight, each with its own buffers: with 1F1B that is
--   stages minus stage index, at most the number of micro-batches. Megatron and TransformerEngine make that many runners
--   (make_graphed_callables with _order). Or run the backward pass before the next forward pass.
-- source: NVIDIA/Megatron-LM issue 1279; Megatron-LM core/transformer/cuda_graphs.py, one runner for each micro-batch in
--   flight
-- message: {graph} ran again before {next} used what it had left, in {steps:count step}: both use memory at {address:x}
SELECT p.process_id, p.start_ns, p.end_ns, p.step, p.thread_id, p.stack_id,
  p.confidence,
  CASE p.confidence WHEN 'low' THEN 'info' ELSE 'error' END AS severity,
  p.exec_id AS root_id, p.exec_id, p.graph_name AS graph,
  p.second_name AS next, p.steps, p.address,
  'executable that ran again' AS ev1_label, p.exec_id AS ev1_value,
  'executable that uses its result' AS ev2_label, p.second_exec_id AS ev2_value,
  'steps' AS ev3_label, p.steps AS ev3_value
FROM pool_conflict AS p
WHERE p.what = 'again' AND p.steps >= :steps_min
ORDER BY p.process_id, p.exec_id, p.second_exec_id;
-- test: fires at the least number of steps
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, second_exec_id,
  second_name, addresses, address, steps, start_ns, end_ns, stack_id, confidence)
VALUES (1, 'again', 6, 'forward', 6, 'forward', 7, 'backward', 1, 4096, 3, 100, 900, 8, 'medium');
-- expect: forward ran again before backward used what it had left, in 3 steps: both use memory at 0x1000 | root_id=6 stack_id=8 confidence=medium severity=error
-- test: only mentioned where the memory is the job's own
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, second_exec_id,
  second_name, addresses, address, steps, start_ns, end_ns, confidence)
VALUES (1, 'again', 6, 'relax', 6, 'relax', 7, 'norm', 1, 4096, 3, 100, 900, 'low');
-- expect: relax ran again before norm used what it had left, in 3 steps: both use memory at 0x1000 | severity=info confidence=low
-- test: quiet in two steps, and for graphs in another order or at once: GD205
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, second_exec_id,
  second_name, addresses, address, steps, start_ns, end_ns, confidence)
VALUES (1, 'again', 6, 'forward', 6, 'forward', 7, 'backward', 1, 4096, 2, 100, 900, 'medium'),
  (2, 'order', 6, 'forward 1', 5, 'forward 0', 7, 'backward 0', 1, 4096, 9, 100, 900, 'medium'),
  (3, 'overlap', 6, 'forward 1', 5, 'forward 0', NULL, NULL, 1, 4096, 9, 100, 900, 'high');
-- expect: none
