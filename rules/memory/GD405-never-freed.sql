-- SPDX-License-Identifier: Apache-2.0
-- rule: GD405 never-freed
-- title: Second launch refused: the graph allocates and never frees
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: exec
-- needs: callbacks>=partial, node_params>=partial
-- why: An allocation that was captured (cudaMallocAsync) became a node of the graph, and nothing in the graph frees it. After
--   the first launch that memory is still in use, so the next launch of the same executable is refused (error 1), unless
--   it was instantiated with cudaGraphInstantiateFlagAutoFreeOnLaunch or the program freed it in between.
-- fix: Free the memory inside the captured region (cudaFreeAsync on a stream of the capture), allocate it before the capture,
--   or free it after each launch with cudaFreeAsync on the stream of the launch. AutoFreeOnLaunch frees what is left of the
--   launch before; free that of the last launch yourself.
-- source: CUDA programming guide, graph memory nodes; the refused launch was reproduced on an H200
-- message: {graph}: launch {launch} was refused (error {result}): {allocs} of its allocations, {bytes:bytes}, {have} no node that frees them
WITH unfreed AS (
  SELECT a.process_id, a.graph_id, COUNT(*) AS allocs, SUM(a.bytes) AS bytes,
    MIN(p.stack_id) AS stack_id
  FROM graph_node AS a
  LEFT JOIN node_place AS p USING (process_id, node_id)
  WHERE a.type = 'mem_alloc' AND a.graph_id IS NOT NULL
    AND NOT EXISTS (SELECT * FROM graph_node AS f
      WHERE f.process_id = a.process_id AND f.graph_id = a.graph_id
        AND f.type = 'mem_free' AND f.dst = a.dst)
  GROUP BY a.process_id, a.graph_id
), launched AS (
  SELECT r.process_id, r.exec_id, r.launch_start_ns, r.launch_end_ns, r.result,
    r.thread_id, r.stack_id,
    ROW_NUMBER() OVER (PARTITION BY r.process_id, r.exec_id
      ORDER BY r.launch_start_ns) AS launch,
    COUNT(CASE r.result WHEN 0 THEN 1 END) OVER (
      PARTITION BY r.process_id, r.exec_id ORDER BY r.launch_start_ns) AS went_well
  FROM replay AS r
)
SELECT l.process_id, MIN(l.launch_start_ns) AS start_ns,
  COALESCE(l.launch_end_ns, l.launch_start_ns) AS end_ns, l.thread_id,
  COALESCE(u.stack_id, l.stack_id, x.stack_id) AS stack_id,
  x.exec_id AS root_id, 'graph ' || x.graph_id AS graph, l.launch, l.result,
  u.allocs, u.bytes, CASE u.allocs WHEN 1 THEN 'has' ELSE 'have' END AS have,
  u.bytes AS cost_bytes,
  'executable' AS ev1_label, x.exec_id AS ev1_value,
  'refused launches' AS ev2_label, COUNT(*) AS ev2_value
FROM launched AS l
JOIN graph_exec AS x USING (process_id, exec_id)
JOIN unfreed AS u USING (process_id, graph_id)
WHERE l.result = 1 AND l.went_well AND NOT (x.flags & 1)
GROUP BY l.process_id, l.exec_id
ORDER BY l.process_id, l.exec_id;
-- test: fires at the second launch and counts the later ones
INSERT INTO graph_node (process_id, node_id, graph_id, type, dst, bytes)
VALUES (1, 1, 4, 'mem_alloc', 100, 4096), (1, 2, 4, 'mem_alloc', 200, 1024), (1, 3, 4, 'mem_free', 200, NULL),
  (1, 4, 4, 'kernel', 100, 64);
INSERT INTO node_place (process_id, node_id, stack_id) VALUES (1, 1, 8), (1, 2, 9), (1, 3, 9);
INSERT INTO graph_exec (process_id, exec_id, graph_id, flags) VALUES (1, 6, 4, 2);
INSERT INTO replay (process_id, exec_id, launch_start_ns, launch_end_ns, result)
VALUES (1, 6, 10, 11, 0), (1, 6, 20, 21, 1), (1, 6, 30, 31, 1);
-- expect: graph 4: launch 2 was refused (error 1): 1 of its allocations, 4.00 KiB, has no node that frees them | root_id=6 stack_id=8 start_ns=20 end_ns=21 ev2_value=2 cost_bytes=4096 severity=error
-- test: frees in another graph or process do not count
INSERT INTO graph_node (process_id, node_id, graph_id, type, dst, bytes)
VALUES (1, 1, 4, 'mem_alloc', 100, 512), (1, 2, 4, 'mem_alloc', 200, 512), (1, 3, 5, 'mem_free', 100, NULL),
  (2, 3, 4, 'mem_free', 200, NULL);
INSERT INTO graph_exec (process_id, exec_id, graph_id, flags) VALUES (1, 6, 4, 0);
INSERT INTO replay (process_id, exec_id, launch_start_ns, result) VALUES (1, 6, 10, 0), (1, 6, 20, 1);
-- expect: graph 4: launch 2 was refused (error 1): 2 of its allocations, 1.00 KiB, have no node that frees them | end_ns=20 stack_id=null
-- test: quiet when the program frees it after each launch and a launch fails for another reason
INSERT INTO graph_node (process_id, node_id, graph_id, type, dst, bytes) VALUES (1, 1, 4, 'mem_alloc', 100, 512);
INSERT INTO graph_exec (process_id, exec_id, graph_id, flags) VALUES (1, 6, 4, 0);
INSERT INTO replay (process_id, exec_id, launch_start_ns, result) VALUES (1, 6, 10, 0), (1, 6, 20, 0), (1, 6, 30, 700);
-- expect: none
-- test: quiet when all is freed, with the flag, when the first launch failed, when none did, and for nodes of executables
INSERT INTO graph_node (process_id, node_id, graph_id, exec_id, type, dst, bytes)
VALUES (1, 1, 4, NULL, 'mem_alloc', 100, 512), (1, 2, 4, NULL, 'mem_free', 100, NULL),
  (2, 1, 4, NULL, 'mem_alloc', 100, 512), (3, 1, 4, NULL, 'mem_alloc', 100, 512), (4, 1, 4, NULL, 'mem_alloc', 100, 512),
  (5, 1, NULL, 6, 'mem_alloc', 100, 512);
INSERT INTO graph_exec (process_id, exec_id, graph_id, flags) VALUES (1, 6, 4, 0), (2, 6, 4, 3), (3, 6, 4, 0),
  (4, 6, 4, 0), (5, 6, NULL, 0);
INSERT INTO replay (process_id, exec_id, launch_start_ns, result) VALUES (1, 6, 10, 0), (1, 6, 20, 1),
  (2, 6, 10, 0), (2, 6, 20, 1), (3, 6, 10, 1), (3, 6, 20, 0), (4, 6, 10, 0), (4, 6, 20, 0), (5, 6, 10, 0), (5, 6, 20, 1);
-- expect: none
