-- SPDX-License-Identifier: Apache-2.0
-- rule: GD708 attention-dispatch
-- title: Attention kernel is chosen by the length, the graph keeps one
-- severity: warning
-- impact: wrong
-- confidence: medium
-- root: exec
-- parent: GD206
-- needs: callbacks>=partial, node_params>=partial
-- param replays_min: 3
-- why: Attention libraries choose kernel, split count and window on the host from the present lengths. An update of the
--   graph was refused because another attention kernel stands at that place, so the job does meet lengths that want
--   another one. The graph that replaced it keeps its own choice for all lengths from then on: slow at best, and wrong
--   where the kernel's limits are exceeded.
-- fix: Pad sequences to one maximum, or capture one graph for each kernel choice and put the length bucket into the graph's
--   key. Fix the choice by hand where the library allows it (num_splits, max_seqlen, sdpa_kernel) and keep lengths of packed
--   sequences in device memory (cu_seqlens).
-- source: Dao-AILab/flash-attention issues 1164 and 1192; huggingface/transformers issue 45323; CUDA programming guide,
--   limits of graph updates
-- message: {graph}: an update was refused because {was:kernel} became {now:kernel}; the graph made then repeats that kernel in all {replays:count replay}
WITH refused AS (
  SELECT u.process_id, u.exec_id, u.graph_id, e.graph_id AS old_graph_id,
    u.start_ns, u.end_ns, u.thread_id, u.stack_id
  FROM exec_update AS u
  JOIN graph_exec AS e ON e.process_id = u.process_id AND e.exec_id = u.exec_id
  WHERE u.result <> 0 AND u.graph_id <> e.graph_id),
kernel AS (
  SELECT n.process_id, n.graph_id, n.name, ROW_NUMBER() OVER (
    PARTITION BY n.process_id, n.graph_id ORDER BY n.created_ns, n.node_id) AS place
  FROM graph_node AS n
  WHERE n.type = 'kernel' AND EXISTS (SELECT * FROM refused AS r
    WHERE r.process_id = n.process_id
      AND n.graph_id IN (r.graph_id, r.old_graph_id))),
changed AS (
  SELECT r.*, o.name AS was, k.name AS now, MIN(k.place) AS place
  FROM refused AS r
  JOIN kernel AS o ON o.process_id = r.process_id AND o.graph_id = r.old_graph_id
  JOIN kernel AS k ON k.process_id = r.process_id AND k.graph_id = r.graph_id
    AND k.place = o.place
  WHERE k.name <> o.name
  GROUP BY r.process_id, r.exec_id, r.start_ns)
SELECT c.process_id, c.start_ns, MAX(p.launch_end_ns) AS end_ns, c.thread_id,
  COALESCE(c.stack_id, e.stack_id) AS stack_id, e.exec_id AS root_id, e.exec_id,
  COALESCE(x.graph_name, 'graph ' || c.graph_id) AS graph, c.was, c.now,
  COUNT(*) AS replays,
  'kernel of the refused graph by number' AS ev1_label, c.place AS ev1_value,
  'executable that was kept no longer' AS ev2_label, c.exec_id AS ev2_value,
  'executable since' AS ev3_label, e.exec_id AS ev3_value
FROM changed AS c
JOIN graph_exec AS e ON e.process_id = c.process_id AND e.graph_id = c.graph_id
  AND e.exec_id <> c.exec_id
JOIN replay AS p ON p.process_id = c.process_id AND p.exec_id = e.exec_id
LEFT JOIN exec_reuse AS x ON x.process_id = c.process_id AND x.exec_id = e.exec_id
WHERE (c.was LIKE '%attention%' OR c.was LIKE '%flash%' OR c.was LIKE '%fmha%')
  AND NOT EXISTS (SELECT * FROM replay AS old
    WHERE old.process_id = c.process_id AND old.exec_id = c.exec_id
      AND old.launch_start_ns > c.end_ns)
GROUP BY c.process_id, e.exec_id
HAVING COUNT(*) >= :replays_min
ORDER BY c.process_id, e.exec_id;
-- test: fires for each kind of name, at the least number of replays
INSERT INTO exec_update (process_id, exec_id, graph_id, start_ns, end_ns, result, stack_id)
VALUES (1, 5, 20, 100, 110, 910, 8),
  (2, 5, 20, 100, 110, 910, 8),
  (3, 5, 20, 100, 110, 910, NULL);
INSERT INTO graph_exec (process_id, exec_id, graph_id, stack_id)
VALUES (1, 5, 10, 1), (1, 6, 20, 9),
  (2, 5, 10, 1), (2, 6, 20, 9),
  (3, 5, 10, 1), (3, 6, 20, 9);
INSERT INTO graph_node (process_id, node_id, graph_id, type, name, created_ns)
VALUES (1, 1, 10, 'kernel', 'gemm', 1), (1, 2, 10, 'kernel', 'attention', 2), (1, 3, 10, 'kernel', 'norm', 3),
  (1, 4, 20, 'kernel', 'gemm', 4), (1, 5, 20, 'memset', 'fill', 5), (1, 6, 20, 'kernel', 'short_attention', 6), (1, 7, 20, 'kernel', 'mlp', 7),
  (2, 1, 10, 'kernel', 'flash_fwd', 1), (2, 2, 20, 'kernel', 'flash_fwd_splitkv', 2),
  (3, 1, 10, 'kernel', 'fmha_v2', 1), (3, 2, 20, 'kernel', 'fmha_v3', 2);
INSERT INTO replay (process_id, exec_id, launch_start_ns, launch_end_ns)
VALUES (1, 5, 50, 60), (1, 6, 200, 210), (1, 6, 300, 310), (1, 6, 400, 410),
  (2, 6, 200, 210), (2, 6, 300, 310), (2, 6, 400, 410),
  (3, 6, 200, 210), (3, 6, 300, 310), (3, 6, 400, 410);
INSERT INTO exec_reuse (process_id, exec_id, graph_name) VALUES (1, 6, 'cycle');
-- expect: cycle: an update was refused because attention became short_attention; the graph made then repeats that kernel in all 3 replays | root_id=6 stack_id=8 end_ns=410
-- expect: graph 20: an update was refused because flash_fwd became flash_fwd_splitkv; the graph made then repeats that kernel in all 3 replays
-- expect: graph 20: an update was refused because fmha_v2 became fmha_v3; the graph made then repeats that kernel in all 3 replays | stack_id=9
-- test: quiet for other kernels, when the update worked, after two replays, and when the old one goes on: GD215
INSERT INTO exec_update (process_id, exec_id, graph_id, start_ns, end_ns, result)
VALUES (1, 5, 20, 100, 110, 910),
  (2, 5, 20, 100, 110, 0),
  (3, 5, 20, 100, 110, 910),
  (4, 5, 20, 100, 110, 910);
INSERT INTO graph_exec (process_id, exec_id, graph_id)
VALUES (1, 5, 10), (1, 6, 20),
  (2, 5, 10), (2, 6, 20),
  (3, 5, 10), (3, 6, 20),
  (4, 5, 10), (4, 6, 20);
INSERT INTO graph_node (process_id, node_id, graph_id, type, name, created_ns)
VALUES (1, 1, 10, 'kernel', 'gemm', 1), (1, 2, 20, 'kernel', 'mlp', 2),
  (2, 1, 10, 'kernel', 'flash_fwd', 1), (2, 2, 20, 'kernel', 'flash_fwd_splitkv', 2),
  (3, 1, 10, 'kernel', 'flash_fwd', 1), (3, 2, 20, 'kernel', 'flash_fwd_splitkv', 2),
  (4, 1, 10, 'kernel', 'flash_fwd', 1), (4, 2, 20, 'kernel', 'flash_fwd_splitkv', 2);
INSERT INTO replay (process_id, exec_id, launch_start_ns, launch_end_ns)
VALUES (1, 6, 200, 210), (1, 6, 300, 310), (1, 6, 400, 410),
  (2, 6, 200, 210), (2, 6, 300, 310), (2, 6, 400, 410),
  (3, 6, 200, 210), (3, 6, 300, 310),
  (4, 6, 200, 210), (4, 6, 300, 310), (4, 6, 400, 410), (4, 5, 500, 510);
-- expect: none
