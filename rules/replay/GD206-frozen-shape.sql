-- SPDX-License-Identifier: Apache-2.0
-- rule: GD206 frozen-shape
-- title: Eager batches came in several sizes, the only graph has one
-- severity: warning
-- impact: wrong
-- confidence: medium
-- root: exec
-- needs: launch_callbacks>=partial, node_params>=partial, callbacks>=complete
-- param replays_min: 3
-- param sizes_min: 2
-- why: A graph keeps the sizes and the branch that the host chose at its capture. Before the capture the same kernels were
--   launched in several sizes; afterwards one graph serves all steps. If batches still vary, longer ones are cut, and
--   behind shorter ones the graph works on what an earlier batch left there. Nothing fails.
-- fix: Pad every batch to one length before the capture and mask the rest. Or capture one graph for each length of a few
--   (buckets) and choose by length before the launch. Or compare the shape with that of the capture before each replay
--   and run eagerly when it differs. Host branches: torch.where or a conditional node.
-- source: PyTorch documentation, CUDA graphs: constraints (no dynamic shapes, no dynamic control flow)
-- message: {graph}: eager runs launched {kernel:kernel} with grids {eager}; its only graph has {frozen} and was replayed {replays:count time}
SELECT f.process_id, f.start_ns, f.end_ns, f.step, f.stack_id,
  f.exec_id AS root_id, f.exec_id, f.graph_name AS graph, f.kernel,
  f.eager_text AS eager, f.frozen_text AS frozen, f.replays,
  'eager runs compared' AS ev1_label, f.eager_runs AS ev1_value,
  'different sizes' AS ev2_label, f.sizes AS ev2_value,
  'kernels that differ' AS ev3_label, f.kernels AS ev3_value
FROM frozen_shape AS f
WHERE f.known AND f.replays >= :replays_min AND f.sizes >= :sizes_min
  AND NOT EXISTS (SELECT * FROM fallback AS b
    WHERE b.process_id = f.process_id AND b.eager_runs)
ORDER BY f.process_id, f.exec_id;
-- test: fires at the least number of replays and sizes
INSERT INTO frozen_shape (process_id, exec_id, graph_name, eager_runs, sizes, kernels, kernel, eager_text, frozen_text,
  replays, stack_id)
VALUES (1, 5, 'cycle', 3, 2, 12, 'attention', '64, 56, 56', '64', 3, 8);
-- expect: cycle: eager runs launched attention with grids 64, 56, 56; its only graph has 64 and was replayed 3 times | root_id=5 stack_id=8 severity=warning
-- test: a region of another process that falls back does not count, and a region without a fallback
INSERT INTO frozen_shape (process_id, exec_id, graph_name, eager_runs, sizes, kernels, kernel, eager_text, frozen_text,
  replays)
VALUES (1, 5, 'cycle', 3, 3, 12, 'attention', '64, 56, 48', '64', 9);
INSERT INTO fallback (process_id, eager_runs) VALUES (2, 4), (1, 0);
-- expect: cycle: eager runs launched attention with grids 64, 56, 48; its only graph has 64 and was replayed 9 times
-- test: quiet after two replays, with one size, when other sizes run eagerly, and with nothing to compare
INSERT INTO frozen_shape (process_id, exec_id, graph_name, eager_runs, sizes, kernels, replays, known)
VALUES (4, 5, 'cycle', 1, 2, 12, 30, 0);
INSERT INTO frozen_shape (process_id, exec_id, graph_name, eager_runs, sizes, kernels, kernel, eager_text, frozen_text,
  replays)
VALUES (1, 5, 'cycle', 3, 2, 12, 'attention', '64, 56, 56', '64', 2),
  (2, 5, 'cycle', 3, 1, 12, 'attention', '64', '64', 30),
  (3, 5, 'cycle', 3, 2, 12, 'attention', '64, 56, 56', '64', 30);
INSERT INTO fallback (process_id, eager_runs) VALUES (3, 1);
-- expect: none
