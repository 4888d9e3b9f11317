-- SPDX-License-Identifier: Apache-2.0
-- rule: GD205 pool-order
-- title: Graphs that share memory run in another order than captured, or at once
-- severity: error
-- impact: wrong
-- confidence: high
-- root: exec
-- needs: node_params>=partial, callbacks>=partial
-- param steps_min: 3
-- why: Graphs captured into one pool reuse each other's memory: a block that one graph has done with belongs to the next.
--   That holds only while they are replayed one after another in the order of their captures. In another order, or at
--   the same time, one graph overwrites what a second one has still to hand to a third. Nothing fails, results are wrong.
--   Buffers that the job allocated itself, outside of captures, may be used in any order that it means: another order than
--   that of the captures is then only mentioned.
-- fix: Replay the graphs in the order in which they were captured: with 1F1B, capture forward and backward passes in the
--   schedule's order. Or give each micro-batch in flight buffers and a graph pool of its own (torch.cuda.graph(g,
--   pool=torch.cuda.graph_pool_handle())). Or copy out what must survive before the next replay. Graphs that run at the
--   same time must never share a pool.
-- source: PyTorch documentation, sharing memory across captures; pytorch/pytorch issue 137844; Megatron-LM creates its
--   graphs in the order of execution for the same reason
-- message: {graph} {how}: they share memory at {address:x}
SELECT p.process_id, p.start_ns, p.end_ns, p.step, p.thread_id, p.stack_id,
  p.confidence,
  CASE WHEN p.what = 'order' AND p.confidence = 'low' THEN 'info'
    ELSE 'error' END AS severity,
  p.exec_id AS root_id, p.exec_id, p.graph_name AS graph, p.address,
  CASE p.what WHEN 'order'
    THEN printf('ran between %s and %s in %s, though it was not captured between them',
      p.first_name, p.second_name, counted(p.steps, 'step'))
    ELSE printf('ran at the same time as %s in %s', p.first_name,
      counted(p.steps, 'step'))
    END AS how,
  'executable that came between' AS ev1_label, p.exec_id AS ev1_value,
  'executable before it' AS ev2_label, p.first_exec_id AS ev2_value,
  'executable that should have followed' AS ev3_label,
  p.second_exec_id AS ev3_value,
  'addresses that they share' AS ev4_label, p.addresses AS ev4_value,
  'steps' AS ev5_label, p.steps AS ev5_value,
  CASE p.what WHEN 'order' THEN 'memory of a graph pool'
    ELSE 'waits for events between their streams' END AS ev6_label,
  CASE p.confidence WHEN 'low' THEN 'not recorded' END AS ev6_value
FROM pool_conflict AS p
WHERE p.steps >= :steps_min AND p.what <> 'again'
  AND p.exec_id = (SELECT q.exec_id FROM pool_conflict AS q
    WHERE q.process_id = p.process_id AND q.steps >= :steps_min
      AND q.what <> 'again'
    ORDER BY INSTR('high medium low', q.confidence), q.start_ns, q.exec_id LIMIT 1)
ORDER BY p.process_id, p.exec_id, p.first_exec_id;
-- test: fires for the first one that came between, at the least number of steps
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, second_exec_id,
  second_name, addresses, address, steps, start_ns, end_ns, step, stack_id, confidence)
VALUES (1, 'order', 6, 'forward 1', 5, 'forward 0', 7, 'backward 0', 12, 4096, 3, 100, 900, 5, 8, 'medium'),
  (1, 'order', 9, 'forward 2', 6, 'forward 1', 8, 'backward 1', 12, 4096, 3, 200, 900, 5, 8, 'medium');
-- expect: forward 1 ran between forward 0 and backward 0 in 3 steps, though it was not captured between them: they share memory at 0x1000 | root_id=6 stack_id=8 confidence=medium severity=error
-- test: what is seen to write comes before what may; fires when they ran at once
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, addresses, address,
  steps, start_ns, end_ns, confidence)
VALUES (1, 'order', 6, 'forward 1', 5, 'forward 0', 12, 4096, 9, 100, 900, 'medium'),
  (1, 'overlap', 9, 'side', 5, 'forward 0', 1, 8192, 4, 200, 900, 'high');
-- expect: side ran at the same time as forward 0 in 4 steps: they share memory at 0x2000 | root_id=9 confidence=high
-- test: quiet below the number of steps; the next one that came often enough counts
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, second_exec_id,
  second_name, addresses, address, steps, start_ns, end_ns, confidence)
VALUES (1, 'order', 6, 'forward 1', 5, 'forward 0', 7, 'backward 0', 12, 4096, 2, 100, 900, 'high'),
  (2, 'order', 6, 'forward 1', 5, 'forward 0', 7, 'backward 0', 12, 4096, 2, 100, 900, 'high'),
  (2, 'order', 8, 'forward 2', 6, 'forward 1', 7, 'backward 0', 12, 4096, 3, 200, 900, 'medium');
-- expect: forward 2 ran between forward 1 and backward 0 in 3 steps, though it was not captured between them: they share memory at 0x1000 | process_id=2
-- test: quiet for one that runs again: GD710, which does not stand before others either
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, second_exec_id,
  second_name, addresses, address, steps, start_ns, end_ns, confidence)
VALUES (1, 'again', 6, 'forward', 6, 'forward', 7, 'backward', 1, 4096, 9, 100, 900, 'medium'),
  (2, 'again', 6, 'forward', 6, 'forward', 7, 'backward', 1, 4096, 9, 100, 900, 'high'),
  (2, 'order', 9, 'forward 1', 5, 'forward 0', 7, 'backward 0', 1, 4096, 9, 200, 900, 'medium');
-- expect: forward 1 ran between forward 0 and backward 0 in 9 steps, though it was not captured between them: they share memory at 0x1000 | process_id=2
-- test: quiet in two steps, and in the order of the captures
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, second_exec_id,
  second_name, addresses, address, steps, start_ns, end_ns, confidence)
VALUES (1, 'order', 6, 'forward 1', 5, 'forward 0', 7, 'backward 0', 12, 4096, 2, 100, 900, 'high');
-- expect: none
-- test: not sure where the waits between streams were not recorded
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, addresses, address,
  steps, start_ns, end_ns, confidence)
VALUES (1, 'overlap', 9, 'side', 5, 'forward 0', 1, 8192, 4, 200, 900, 'low'),
  (2, 'overlap', 9, 'side', 5, 'forward 0', 1, 8192, 4, 200, 900, 'high');
-- expect: side ran at the same time as forward 0 in 4 steps: they share memory at 0x2000 | process_id=1 confidence=low severity=error ev6_value='not recorded'
-- expect: side ran at the same time as forward 0 in 4 steps: they share memory at 0x2000 | process_id=2 confidence=high ev6_value=null
-- test: only mentioned where the memory is the job's own; what shares a pool comes before it
INSERT INTO pool_conflict (process_id, what, exec_id, graph_name, first_exec_id, first_name, second_exec_id,
  second_name, addresses, address, steps, start_ns, end_ns, confidence)
VALUES (1, 'order', 6, 'advect', 5, 'diffuse', 7, 'pressure', 1, 4096, 9, 100, 900, 'low'),
  (2, 'order', 6, 'advect', 5, 'diffuse', 7, 'pressure', 1, 4096, 9, 100, 900, 'low'),
  (2, 'order', 9, 'forward 1', 8, 'forward 0', 10, 'backward 0', 1, 8192, 9, 200, 900, 'medium');
-- expect: advect ran between diffuse and pressure in 9 steps, though it was not captured between them: they share memory at 0x1000 | process_id=1 severity=info confidence=low ev6_label='memory of a graph pool' ev6_value='not recorded'
-- expect: forward 1 ran between forward 0 and backward 0 in 9 steps, though it was not captured between them: they share memory at 0x2000 | process_id=2 severity=error confidence=medium
