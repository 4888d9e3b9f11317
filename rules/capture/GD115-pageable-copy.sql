-- SPDX-License-Identifier: Apache-2.0
-- rule: GD115 pageable-copy
-- title: Captured copy uses host memory that is not pinned
-- severity: warning
-- impact: wrong
-- confidence: medium
-- root: exec
-- needs: node_params>=partial, memory>=complete, callbacks>=partial
-- param replays_min: 2
-- why: A captured copy keeps the host address of its capture. Pageable memory (a plain tensor, a vector, a variable on the
--   stack) usually goes when the function returns, or is filled again before the device has read it, and nothing keeps it
--   for the graph: later replays copy whatever lies at that address then.
-- fix: Copy from one pinned buffer that lives as long as the graph (tensor.pin_memory() kept in a variable,
--   cudaHostAlloc), and write each step's data into it before the replay. Or copy before the graph is launched, into a
--   device buffer that the graph reads.
-- source: pytorch/pytorch issue 172156; CUDA runtime API, behaviour of asynchronous copies with pageable memory. Systems
--   that share page tables between host and device (GH200) may use pageable memory legally
-- message: {graph}: {copy} of {bytes:bytes} {uses} host memory that is neither pinned nor registered, in {replays:count replay}{more}
WITH copied AS (
  SELECT n.process_id, n.graph_id, MIN(n.node_id) AS node_id, p.stack_id,
    n.thread_id, n.bytes, n.copy_kind, n.range_path, COUNT(*) AS copies
  FROM graph_node AS n
  LEFT JOIN node_place AS p USING (process_id, node_id)
  WHERE n.type = 'memcpy' AND n.capture_id IS NOT NULL
    AND COALESCE(CASE n.copy_kind WHEN 'HtoD' THEN n.src_memory
        WHEN 'DtoH' THEN n.dst_memory ELSE 'other' END, 'host_pageable')
      = 'host_pageable'
  GROUP BY n.process_id, n.graph_id
)
SELECT c.process_id, MIN(r.launch_start_ns) AS start_ns,
  MAX(r.launch_start_ns) AS end_ns, c.thread_id, c.stack_id,
  x.exec_id AS root_id, COALESCE(c.range_path, 'graph ' || c.graph_id) AS graph,
  CASE c.copy_kind WHEN 'HtoD' THEN 'a copy to the device'
      ELSE 'a copy to the host' END AS copy,
  CASE c.copy_kind WHEN 'HtoD' THEN 'reads' ELSE 'writes' END AS uses,
  c.bytes, COUNT(*) AS replays,
  CASE c.copies WHEN 1 THEN '' ELSE ', the first of ' || c.copies END AS more,
  'graph_node' AS evidence_table, c.node_id AS evidence_id,
  'executable' AS ev1_label, x.exec_id AS ev1_value
FROM copied AS c
JOIN graph_exec AS x USING (process_id, graph_id)
JOIN replay AS r USING (process_id, exec_id)
WHERE r.result = 0
GROUP BY c.process_id, x.exec_id
HAVING COUNT(*) >= :replays_min
ORDER BY c.process_id, x.exec_id;
-- test: fires for both directions, with unknown memory and with memory known to be pageable
INSERT INTO graph_node (process_id, node_id, graph_id, capture_id, type, copy_kind, src_memory, dst_memory, bytes,
  range_path)
VALUES (1, 1, 4, 3, 'memcpy', 'HtoD', NULL, 'device', 4096, 'step/inputs'),
  (1, 2, 4, 3, 'memcpy', 'HtoD', 'host_pageable', 'device', 64, NULL),
  (2, 1, 4, 3, 'memcpy', 'DtoH', 'device', 'host_pageable', 64, NULL);
INSERT INTO node_place (process_id, node_id, stack_id) VALUES (1, 1, 8), (1, 2, 9);
INSERT INTO graph_exec (process_id, exec_id, graph_id) VALUES (1, 6, 4), (2, 6, 4);
INSERT INTO replay (process_id, exec_id, launch_start_ns, result) VALUES (1, 6, 10, 0), (1, 6, 20, 0), (1, 6, 30, 700),
  (2, 6, 10, 0), (2, 6, 20, 0), (2, 6, 30, 0);
-- expect: step/inputs: a copy to the device of 4.00 KiB reads host memory that is neither pinned nor registered, in 2 replays, the first of 2 | root_id=6 stack_id=8 start_ns=10 end_ns=20 severity=warning
-- expect: graph 4: a copy to the host of 64 B writes host memory that is neither pinned nor registered, in 3 replays | stack_id=null
-- test: quiet for pinned, registered and managed memory, between devices, and for other nodes
INSERT INTO graph_node (process_id, node_id, graph_id, capture_id, type, copy_kind, src_memory, dst_memory, bytes)
VALUES (1, 1, 4, 3, 'memcpy', 'HtoD', 'host_pinned', NULL, 64), (1, 2, 4, 3, 'memcpy', 'DtoH', NULL, 'host_registered', 64),
  (1, 3, 4, 3, 'memcpy', 'HtoD', 'managed', 'device', 64), (1, 4, 4, 3, 'memcpy', 'DtoD', NULL, NULL, 64),
  (1, 5, 4, 3, 'memset', 'HtoD', NULL, NULL, 64);
INSERT INTO graph_exec (process_id, exec_id, graph_id) VALUES (1, 6, 4);
INSERT INTO replay (process_id, exec_id, launch_start_ns, result) VALUES (1, 6, 10, 0), (1, 6, 20, 0);
-- expect: none
-- test: quiet after one replay, and for a graph that was built by calls, which name their memory each time
INSERT INTO graph_node (process_id, node_id, graph_id, capture_id, type, copy_kind, src_memory, bytes)
VALUES (1, 1, 4, 3, 'memcpy', 'HtoD', NULL, 64), (2, 1, 4, NULL, 'memcpy', 'HtoD', NULL, 64);
INSERT INTO graph_exec (process_id, exec_id, graph_id) VALUES (1, 6, 4), (2, 6, 4);
INSERT INTO replay (process_id, exec_id, launch_start_ns, result) VALUES (1, 6, 10, 0), (1, 6, 20, 1),
  (2, 6, 10, 0), (2, 6, 20, 0);
-- expect: none
