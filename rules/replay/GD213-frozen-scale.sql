-- SPDX-License-Identifier: Apache-2.0
-- rule: GD213 frozen-scale
-- title: Graph repeats a quantisation scale that the host changes
-- severity: error
-- impact: wrong
-- confidence: high
-- root: exec
-- parent: GD201
-- needs: launch_callbacks>=partial, node_params>=partial, callbacks>=complete
-- param replays_min: 3
-- param values_min: 3
-- why: Delayed scaling takes the scale of an 8-bit tensor from the largest values of earlier steps. A host that computes
--   it and passes it by value has it stored in the graph at capture: all replays quantise with the scale of that step.
--   When activations or gradients grow, values saturate; when they shrink, they round to zero. Nothing fails.
-- fix: Keep scale and amax history in device memory and let kernels inside the graph update them, or update them at the
--   end of the autocast region, as TransformerEngine does (te.fp8_autocast with DelayedScaling, its graphed callables).
--   Pass the address of the scale, not its value. Current (per-tensor or per-block) scaling computes the scale inside
--   the graph and has nothing to freeze.
-- source: CUDA programming guide, graphs: parameters are copied at capture; TransformerEngine issues 575 and 766
-- message: {graph}: {node:kernel} gets the scale {frozen} as {place} in all {replays:count replay}; eager runs passed {values}
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
  'nodes that repeat one' AS ev3_label, f.nodes AS ev3_value,
  'bit pattern' AS ev4_label, printf('0x%x', f.frozen_value) AS ev4_value,
  'node' AS ev5_label, f.node_name AS ev5_value
FROM frozen_scalar AS f
WHERE f.known AND f.is_monotone AND f.replays >= :replays_min
  AND f.distinct_values >= :values_min
  AND (f.node_name LIKE '%fp8%' OR f.node_name LIKE '%float8%'
    OR f.node_name LIKE '%e4m3%' OR f.node_name LIKE '%e5m2%'
    OR f.node_name LIKE '%fp4%' OR f.node_name LIKE '%quantize%'
    OR f.node_name LIKE '%amax%')
ORDER BY f.process_id, f.exec_id, f.node_id, f.param, f.offset;
-- test: fires for each name of such kernels, with the place
INSERT INTO frozen_scalar (process_id, exec_id, graph_name, node_id, node_name, nodes, param, offset, bytes,
  frozen_value, frozen_text, eager_text, eager_runs, distinct_values, is_monotone, replays, confidence, capture_stack_id)
VALUES (1, 5, 'step', 1, 'set_fp8_scale', 4, 2, 0, 4, 4, '448', '224, 256, 320', 3, 3, 1, 3, 'high', 8),
  (1, 5, 'step', 2, 'cast_to_float8', 4, 2, 4, 4, 4, '4', '1, 2, 3', 3, 3, 1, 3, 'high', 8),
  (1, 5, 'step', 3, 'cast_e4m3', 4, 2, 0, 4, 4, '4', '1, 2, 3', 3, 3, 1, 3, 'high', 8),
  (1, 5, 'step', 4, 'cast_E5M2', 4, 2, 0, 4, 4, '4', '1, 2, 3', 3, 3, 1, 3, 'high', 8),
  (1, 5, 'step', 5, 'pack_fp4', 4, 2, 0, 4, 4, '4', '1, 2, 3', 3, 3, 1, 3, 'high', 8),
  (1, 5, 'step', 6, 'Quantize_rows', 4, 2, 0, 4, 4, '4', '1, 2, 3', 3, 3, 1, 3, 'high', 8),
  (1, 5, 'step', 7, 'update_amax', 4, 2, 0, 4, 4, '4', '1, 2, 3', 3, 3, 1, 3, 'high', 8);
-- expect: step: set_fp8_scale gets the scale 448 as parameter 2 in all 3 replays; eager runs passed 224, 256, 320 | root_id=5 stack_id=8 confidence=high
-- expect: step: cast_to_float8 gets the scale 4 as parameter 2, byte 4 in all 3 replays; eager runs passed 1, 2, 3
-- expect: step: cast_e4m3 gets the scale 4 as parameter 2 in all 3 replays; eager runs passed 1, 2, 3
-- expect: step: cast_E5M2 gets the scale 4 as parameter 2 in all 3 replays; eager runs passed 1, 2, 3
-- expect: step: pack_fp4 gets the scale 4 as parameter 2 in all 3 replays; eager runs passed 1, 2, 3
-- expect: step: Quantize_rows gets the scale 4 as parameter 2 in all 3 replays; eager runs passed 1, 2, 3
-- expect: step: update_amax gets the scale 4 as parameter 2 in all 3 replays; eager runs passed 1, 2, 3
-- test: quiet for other kernels, after two replays, for two values, without a trend, and without an eager run
INSERT INTO frozen_scalar (process_id, exec_id, graph_name, node_id, node_name, nodes, param, offset, frozen_text,
  eager_text, eager_runs, distinct_values, is_monotone, replays, confidence, known)
VALUES (1, 5, 'step', 9, 'adam', 4, 2, 0, '4', '1, 2, 3', 3, 3, 1, 9, 'high', 1),
  (1, 5, 'step', 9, 'set_fp8_scale', 4, 2, 0, '4', '1, 2, 3', 3, 3, 1, 2, 'high', 1),
  (1, 5, 'step', 9, 'set_fp8_scale', 4, 3, 0, '3', '1, 2', 2, 2, 1, 9, 'low', 1),
  (1, 5, 'step', 9, 'set_fp8_scale', 4, 4, 0, '3', '1, 3, 2', 3, 3, 0, 9, 'medium', 1),
  (1, 5, 'step', 9, 'set_fp8_scale', 4, 4, 0, '3', '1, 2, 3', 3, 3, 1, 9, 'medium', 0);
-- expect: none
