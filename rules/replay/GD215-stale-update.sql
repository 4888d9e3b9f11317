-- SPDX-License-Identifier: Apache-2.0
-- rule: GD215 stale-update
-- title: Graph update was refused and the old executable went on
-- severity: error
-- impact: wrong
-- confidence: high
-- root: exec
-- needs: callbacks>=partial
-- why: cudaGraphExecUpdate changes parameters only. When the new graph has other kernels, other nodes or other edges it is
--   refused, and the executable stays as it was. A program that launches it all the same repeats the old work: old
--   addresses, old sizes, the kernel of the old shape.
-- fix: Look at the result of cudaGraphExecUpdate, and on failure destroy the executable and instantiate the new graph
--   (cudaGraphInstantiate). Where shapes choose the kernel, as attention does by sequence length, keep one graph for each
--   shape, or pad to one.
-- source: CUDA programming guide, updating instantiated graphs; ggml-org/llama.cpp issue 12420
-- message: {graph}: an update was refused ({error}) and the executable was launched {replays:count time} after it
SELECT u.process_id, u.start_ns, MAX(r.launch_end_ns) AS end_ns, u.thread_id,
  u.stack_id, u.exec_id AS root_id, u.exec_id,
  COALESCE(x.graph_name, 'executable ' || u.exec_id) AS graph,
  COALESCE(c.name, 'error ' || u.result) AS error, COUNT(*) AS replays,
  'executable' AS ev1_label, u.exec_id AS ev1_value,
  'reason by number (CUgraphExecUpdateResult)' AS ev2_label,
  u.update_result AS ev2_value,
  'launches after it' AS ev3_label, COUNT(*) AS ev3_value
FROM exec_update AS u
JOIN replay AS r ON r.process_id = u.process_id AND r.exec_id = u.exec_id
  AND r.launch_start_ns > u.end_ns
LEFT JOIN exec_reuse AS x ON x.process_id = u.process_id
  AND x.exec_id = u.exec_id
LEFT JOIN result_code AS c ON c.result = u.result
WHERE u.result <> 0
  AND NOT EXISTS (SELECT * FROM exec_update AS later
    WHERE later.process_id = u.process_id AND later.exec_id = u.exec_id
      AND later.start_ns > u.start_ns AND later.end_ns < r.launch_start_ns)
GROUP BY u.process_id, u.exec_id, u.start_ns
ORDER BY u.process_id, u.exec_id, u.start_ns;
-- test: fires with the number of launches that followed
INSERT INTO result_code (result, name, runtime_name) VALUES (910, 'E910', 'e910');
INSERT INTO exec_reuse (process_id, exec_id, graph_name) VALUES (1, 5, 'cycle');
INSERT INTO exec_update (process_id, exec_id, start_ns, end_ns, result, update_result, stack_id)
VALUES (1, 5, 100, 110, 910, 3, 8),
  (1, 6, 100, 110, 999, 1, 8);
INSERT INTO replay (process_id, exec_id, launch_start_ns, launch_end_ns)
VALUES (1, 5, 50, 60),
  (1, 5, 150, 160),
  (1, 5, 250, 260),
  (1, 6, 250, 260);
-- expect: cycle: an update was refused (E910) and the executable was launched 2 times after it | root_id=5 stack_id=8 end_ns=260 ev2_value=3
-- expect: executable 6: an update was refused (error 999) and the executable was launched 1 time after it
-- test: quiet when the update worked, when it was not launched again, and when a later update worked
INSERT INTO exec_update (process_id, exec_id, start_ns, end_ns, result)
VALUES (1, 5, 100, 110, 0),
  (1, 6, 100, 110, 910),
  (1, 7, 100, 110, 910),
  (1, 7, 120, 130, 0);
INSERT INTO replay (process_id, exec_id, launch_start_ns, launch_end_ns)
VALUES (1, 5, 150, 160),
  (1, 6, 50, 60),
  (1, 7, 150, 160);
-- expect: none
