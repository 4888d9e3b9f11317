-- SPDX-License-Identifier: Apache-2.0
-- rule: GD202 stale-pointer
-- title: Graph writes or reads memory that is gone or has a new owner
-- severity: error
-- impact: wrong
-- confidence: high
-- root: exec
-- needs: node_params>=partial, memory>=partial
-- why: A graph keeps the addresses of its capture. Memory that was freed afterwards may be unmapped (the replay
--   faults) or belong to somebody else by now (the replay reads or overwrites foreign data without any error).
-- fix: Keep what the graph uses alive as long as the graph: hold references beside torch.cuda.CUDAGraph,
--   allocate while capturing so that blocks come from its pool (torch.cuda.graph(g, pool=...)), copy new data into
--   static buffers with copy_() instead of handing over new tensors, and do not use record_stream() to end the life
--   of captured buffers. In C++: cudaFree only after cudaGraphExecDestroy, or capture again (cudaGraphExecUpdate,
--   cudaGraphExecKernelNodeSetParams) after the address changed.
-- source: CUDA programming guide, graph memory; PyTorch documentation, CUDA graphs; NVIDIA compute-sanitizer
--   finds the same access at run time
-- message: {graph}: {node:kernel} {where} points to {bytes:bytes} that were freed; {owner} {replays:count replay} launched since
SELECT s.process_id, s.start_ns, s.end_ns, s.step, s.confidence,
  COALESCE(s.free_stack_id, s.alloc_stack_id, s.capture_stack_id) AS stack_id,
  s.free_thread_id AS thread_id, s.exec_id AS root_id, s.exec_id,
  s.graph_name AS graph, s.node_name AS node, s.bytes, s.replays,
  CASE s.role WHEN 'dst' THEN 'destination' WHEN 'src' THEN 'source'
    ELSE 'parameter ' || COALESCE(s.param, 'unknown') END AS "where",
  CASE WHEN s.owner_allocation_id IS NULL THEN 'nobody owns them now,'
    WHEN s.owner_place IS NOT NULL THEN 'what was allocated at ' || s.owner_place || ' lies there now,'
    ELSE 'allocation ' || s.owner_allocation_id || ' lies there now,' END AS owner,
  'allocation' AS evidence_table, s.allocation_id AS evidence_id,
  'address' AS ev1_label, printf('0x%x', s.address) AS ev1_value,
  'allocated' AS ev2_label, s.alloc_ns AS ev2_value, 'ns' AS ev2_unit,
  'freed' AS ev3_label, s.free_ns AS ev3_value, 'ns' AS ev3_unit,
  'kind of memory' AS ev4_label, s.allocation_kind AS ev4_value,
  'nodes that point there' AS ev5_label, s.nodes AS ev5_value,
  'allocated at' AS ev6_label, s.alloc_place AS ev6_value,
  'new owner allocated at' AS ev7_label, s.owner_place AS ev7_value,
  'node' AS ev8_label, s.node_name AS ev8_value,
  w.known AS watched
FROM stale_pointer AS s
LEFT JOIN memory_watch AS w ON w.process_id = s.process_id AND w.exec_id = s.exec_id
WHERE s.known
ORDER BY s.process_id, s.exec_id, s.allocation_id;
-- test: fires with the owner, and where the memory was freed
INSERT INTO stale_pointer (process_id, exec_id, graph_name, node_name, param, role, bytes, replays,
  owner_allocation_id, confidence, free_stack_id, alloc_stack_id, owner_place)
VALUES (1, 5, 'cycle', 'residual_add', 2, 'param', 65536, 3, 9, 'high', 4, 3, NULL),
  (1, 6, 'cycle', 'memcpy', NULL, 'dst', 1024, 1, NULL, 'medium', NULL, 3, NULL),
  (1, 7, 'cycle', 'memcpy', NULL, 'src', 1024, 1, NULL, 'low', NULL, NULL, NULL),
  (1, 8, 'cycle', 'gemm', 0, 'param', 2048, 5, 11, 'medium', 4, 3, 'train.py:9 in load');
INSERT INTO memory_watch (process_id, exec_id, known) VALUES (1, 5, 0), (1, 6, 1), (2, 5, 1);
-- expect: cycle: residual_add parameter 2 points to 64.0 KiB that were freed; allocation 9 lies there now, 3 replays launched since | stack_id=4 root_id=5 confidence=high watched=0
-- expect: cycle: memcpy destination points to 1.00 KiB that were freed; nobody owns them now, 1 replay launched since | stack_id=3 confidence=medium watched=1
-- expect: cycle: memcpy source points to 1.00 KiB that were freed; nobody owns them now, 1 replay launched since | confidence=low
-- expect: cycle: gemm parameter 0 points to 2.00 KiB that were freed; what was allocated at train.py:9 in load lies there now, 5 replays launched since | confidence=medium
-- test: quiet when everything is alive, or was freed after the last replay
INSERT INTO allocation (process_id, allocation_id, kind, free_ns)
VALUES (1, 1, 'device', 900);
INSERT INTO node_pointer (process_id, node_id, role, allocation_id)
VALUES (1, 4, 'param', 1);
-- expect: none
