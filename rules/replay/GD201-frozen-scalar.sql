-- SPDX-License-Identifier: Apache-2.0
-- rule: GD201 frozen-scalar
-- title: Graph repeats a host value that changed from run to run
-- severity: error
-- impact: wrong
-- confidence: high
-- root: exec
-- needs: launch_callbacks>=partial, node_params>=partial, callbacks>=complete
-- param replays_min: 3
-- param values_min: 3
-- why: What a kernel gets by value is stored in the graph when it is captured. A step count, a learning rate, a loss
--   scale or a length that the host raises from step to step stays at the value of the capture in every replay: no
--   error, wrong results.
-- fix: Keep such values in device memory and pass their address: capturable=True for PyTorch's optimisers, learning
--   rates as tensors that are filled in place (param_group["lr"].fill_(x)); or change the node before each replay
--   (cudaGraphExecKernelNodeSetParams); or capture one graph for each value where there are few.
-- source: CUDA programming guide, graphs: parameters are copied at capture; PyTorch documentation, CUDA graphs and
--   capturable optimisers
-- message: {graph}: {node:kernel} gets {frozen} as {place} in all {replays:count replay}; eager runs passed {values}
SELECT f.process_id, f.start_ns, f.end_ns, f.step, f.confidence,
  f.capture_stack_id AS stack_id, f.exec_id AS root_id, f.exec_id,
  f.graph_name AS graph, f.node_name AS node, f.frozen_text AS frozen,
  f.eager_text AS "values", f.replays,
  CASE WHEN f.offset
    THEN 'parameter ' || f.param || ', byte ' || f.offset
    ELSE 'parameter ' || f.param END AS place,
  'graph_node' AS evidence_table, f.node_id AS evidence_id,
  'eager runs compared' AS ev1_label, f.eager_runs AS ev1_value,
  'different values' AS ev2_label, f.distinct_values AS ev2_value,
  'nodes that repeat it' AS ev3_label, f.nodes AS ev3_value,
  'bit pattern' AS ev4_label, printf('0x%x', f.frozen_value) AS ev4_value,
  'node' AS ev5_label, f.node_name AS ev5_value
FROM frozen_scalar AS f
WHERE f.known AND f.has_trend AND f.replays >= :replays_min
  AND f.distinct_values >= :values_min
ORDER BY f.process_id, f.exec_id, f.node_id, f.param, f.offset;
-- test: fires with the place, the value and the values before it
INSERT INTO frozen_scalar (process_id, exec_id, graph_name, node_id, node_name, nodes, param, offset, bytes,
  frozen_value, frozen_text, eager_text, eager_runs, distinct_values, has_trend, replays, confidence,
  capture_stack_id)
VALUES (1, 5, 'step', 9, 'adam', 4, 2, 0, 4, 4, '4', '1, 2, 3', 3, 3, 1, 3, 'high', 8),
  (1, 5, 'step', 9, 'adam', 4, 3, 8, 4, 5, '0.5', '0.8, 0.7, 0.6', 3, 4, 1, 3, 'high', NULL);
-- expect: step: adam gets 4 as parameter 2 in all 3 replays; eager runs passed 1, 2, 3 | stack_id=8 root_id=5 confidence=high
-- expect: step: adam gets 0.5 as parameter 3, byte 8 in all 3 replays; eager runs passed 0.8, 0.7, 0.6 | confidence=high
-- test: quiet after two replays, for two values, and for values that go up and down
INSERT INTO frozen_scalar (process_id, exec_id, graph_name, node_id, node_name, nodes, param, offset, frozen_text,
  eager_text, eager_runs, distinct_values, has_trend, replays, confidence)
VALUES (1, 5, 'step', 9, 'adam', 4, 2, 0, '4', '1, 2, 3', 3, 3, 1, 2, 'high'),
  (1, 5, 'step', 9, 'adam', 4, 3, 0, '3', '1, 2', 2, 2, 1, 9, 'low'),
  (1, 5, 'step', 9, 'adam', 4, 4, 0, '3', '1, 3, 2', 3, 3, 0, 9, 'medium');
-- expect: none
-- test: quiet without an eager run to compare with
INSERT INTO frozen_scalar (process_id, exec_id, graph_name, distinct_values, has_trend, replays, known)
VALUES (1, 5, 'step', 3, 1, 30, 0);
-- expect: none
