-- SPDX-License-Identifier: Apache-2.0
-- rule: GD705 optimizer-twice
-- title: Optimizer graph ran twice for one set of gradients
-- severity: error
-- impact: wrong
-- confidence: medium
-- root: exec
-- needs: callbacks>=partial, node_params>=partial, graph_trace|node_activity>=partial, eager_kernel_activity>=complete
-- param repeats_max: 0.20
-- why: The optimizer's graph applies the gradients that lie in its buffers. Replayed twice between two backward passes, it
--   applies them twice, and moments and step count move twice. Nothing fails; the loss jumps, or the training only
--   converges worse. It happens where a retry, a warm-up call or a second owner of the graph launches it once more.
-- fix: Launch the optimizer's graph at one place, once after the gradients of the step are complete, and clear them before
--   the next backward pass: zero the buffers inside the graph, or optimizer.zero_grad(set_to_none=False) right after it.
--   With gradient accumulation launch it after the last micro-batch only.
-- source: The shares are this project's defaults; order of a step: PyTorch documentation, CUDA graphs, whole-network
--   capture
-- message: {graph} was launched twice in a row, first in step {step}; so {count} of {launches:count time}
SELECT x.process_id, x.repeat_ns AS start_ns, x.repeat_ns AS end_ns,
  x.repeat_step AS step,
  COALESCE(x.repeat_stack_id, x.launch_stack_id, x.stack_id) AS stack_id,
  x.exec_id AS root_id, x.exec_id, x.graph_name AS graph, x.repeats AS count,
  x.replays AS launches,
  'executable' AS ev1_label, x.exec_id AS ev1_value,
  'launches' AS ev2_label, x.replays AS ev2_value,
  'directly after one of its own' AS ev3_label, x.repeats AS ev3_value
FROM exec_reuse AS x
WHERE x.is_optimizer AND x.repeats AND x.repeats <= :repeats_max * x.replays
ORDER BY x.process_id, x.exec_id;
-- test: fires for one launch of five, with the best stack there is
INSERT INTO exec_reuse (process_id, exec_id, graph_name, replays, repeats, repeat_step, repeat_ns, repeat_stack_id,
  launch_stack_id, stack_id, is_optimizer)
VALUES (1, 5, 'optimizer', 5, 1, 7, 700, 8, 9, 10, 1),
  (2, 5, 'optimizer', 20, 2, 7, 700, NULL, 9, 10, 1),
  (3, 5, 'optimizer', 9, 1, NULL, 700, NULL, NULL, 10, 1);
-- expect: optimizer was launched twice in a row, first in step 7; so 1 of 5 times | root_id=5 stack_id=8 step=7 confidence=medium
-- expect: optimizer was launched twice in a row, first in step 7; so 2 of 20 times | stack_id=9
-- expect: optimizer was launched twice in a row, first in step unknown; so 1 of 9 times | stack_id=10
-- test: quiet for other graphs, without such a launch, and just above a fifth
INSERT INTO exec_reuse (process_id, exec_id, graph_name, replays, repeats, repeat_step, is_optimizer)
VALUES (1, 5, 'cycle', 30, 1, 7, 0),
  (2, 5, 'optimizer', 30, 0, NULL, 1),
  (3, 5, 'optimizer', 49, 10, 7, 1);
-- expect: none
