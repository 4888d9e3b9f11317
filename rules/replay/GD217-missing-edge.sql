-- SPDX-License-Identifier: Apache-2.0
-- rule: GD217 missing-edge
-- title: Nodes of a graph use the same memory and nothing orders them
-- severity: error
-- impact: wrong
-- confidence: high
-- root: exec
-- needs: node_params>=partial, callbacks>=partial
-- param replays_min: 3
-- why: A graph orders its nodes only by its edges: those of one stream, and those of the event waits between streams. Two
--   nodes without a path between them may run at the same time, and so may all that is inside two child graphs without
--   one. When one writes what the other uses, the result depends on which comes first, and it may be right in every eager
--   run. Sends and receives of one group always run at the same time, also on one stream.
-- fix: Give the two buffers of their own, as the two that a ring of sends and receives swaps at every hop. Or order them:
--   record an event after the first (cudaEventRecord, torch.cuda.Event.record) and let the other's stream wait for it
--   before the second (cudaStreamWaitEvent, Stream.wait_event), inside the capture. Between nodes that were added by hand,
--   child graphs too, add a dependency (cudaGraphAddDependencies).
-- source: CUDA programming guide, graph structure: nodes without a path may run concurrently; NCCL user guide, group
--   calls
-- message: {graph}: {writer:kernel} writes {upto}{bytes:bytes} that {other:kernel} {does}{param}, and {reason}
SELECT u.process_id, u.start_ns, u.end_ns, u.step, u.thread_id, u.stack_id,
  u.confidence, u.exec_id AS root_id, u.exec_id, u.graph_name AS graph,
  u.writer_name AS writer, u.other_name AS other, u.bytes,
  CASE WHEN u.writer_param IS NULL THEN '' ELSE 'up to ' END AS upto,
  CASE WHEN u.other_role = 'writes' THEN 'writes, too'
    WHEN u.other_role = 'reads' OR u.writer_param IS NOT NULL THEN 'reads'
    ELSE 'uses' END AS does,
  COALESCE(' (parameter ' || u.other_param || ')', '') AS param,
  CASE WHEN u.reason = 'same_group'
    THEN 'both are in one group of sends and receives, which run at the same time'
    WHEN u.writer_holder_id IS NULL AND u.other_holder_id IS NULL
    THEN 'neither waits for the other'
    WHEN u.writer_holder_id IS NULL OR u.other_holder_id IS NULL
    THEN 'neither the node nor the child graph waits for the other'
    ELSE 'neither of their child graphs waits for the other' END AS reason,
  'graph_node' AS evidence_table, u.writer_node_id AS evidence_id,
  'address' AS ev1_label, printf('0x%x', u.address) AS ev1_value,
  'such pairs in the graph' AS ev2_label, u.pairs AS ev2_value,
  'stream of the writer' AS ev3_label, u.writer_stream_id AS ev3_value,
  'stream of the other' AS ev4_label, u.other_stream_id AS ev4_value,
  'replays' AS ev5_label, u.replays AS ev5_value,
  'parameter of the writer, as T*' AS ev6_label, u.writer_param AS ev6_value,
  'child graph node of the writer' AS ev7_label, u.writer_holder_id AS ev7_value,
  'child graph node of the other' AS ev8_label, u.other_holder_id AS ev8_value
FROM unordered_access AS u
WHERE u.known AND u.replays >= :replays_min
ORDER BY u.process_id, u.exec_id, u.confidence, u.writer_node_id,
  u.other_node_id;
-- test: fires for calls of one group, at the least number of replays
INSERT INTO unordered_access (process_id, exec_id, graph_id, graph_name, writer_node_id, writer_name, other_node_id,
  other_name, other_role, reason, address, bytes, pairs, replays, stack_id, confidence)
VALUES (1, 5, 4, 'cycle', 9, 'Recv', 8, 'Send', 'reads', 'same_group', 4096, 2048, 6, 3, 7, 'high');
-- expect: cycle: Recv writes 2.00 KiB that Send reads, and both are in one group of sends and receives, which run at the same time | root_id=5 stack_id=7 confidence=high
-- test: fires where nothing orders a fill and a kernel, a copy and a fill
INSERT INTO unordered_access (process_id, exec_id, graph_id, graph_name, writer_node_id, writer_name, other_node_id,
  other_name, other_role, other_param, reason, address, bytes, pairs, replays, confidence)
VALUES (1, 5, 4, 'cycle', 9, 'memset', 10, 'gemm', 'uses', 2, 'no_path', 4096, 512, 1, 30, 'medium'),
  (1, 6, 4, 'cycle', 9, 'memcpy', 10, 'memset', 'writes', NULL, 'no_path', 4096, 512, 1, 30, 'high');
-- expect: cycle: memset writes 512 B that gemm uses (parameter 2), and neither waits for the other | confidence=medium
-- expect: cycle: memcpy writes 512 B that memset writes, too, and neither waits for the other | confidence=high
-- test: fires for kernels that say what they do, in two child graphs, and in one beside a node
INSERT INTO unordered_access (process_id, exec_id, graph_id, graph_name, writer_node_id, writer_name, writer_param,
  other_node_id, other_name, other_role, other_param, reason, address, bytes, pairs, writer_holder_id,
  other_holder_id, replays, confidence)
VALUES (1, 5, 4, 'step', 9, 'fill(int*, int const*)', 0, 10, 'use(int*, int const*)', 'uses', 1, 'no_path', 4096, 512,
    1, 20, 21, 30, 'medium'),
  (1, 6, 4, 'step', 9, 'fill', 0, 10, 'use', 'uses', 1, 'no_path', 4096, 512, 1, NULL, 21, 30, 'medium'),
  (1, 7, 4, 'step', 9, 'memset', NULL, 10, 'use', 'uses', 1, 'no_path', 4096, 512, 1, 20, NULL, 30, 'medium');
-- expect: step: fill writes up to 512 B that use reads (parameter 1), and neither of their child graphs waits for the other | confidence=medium ev6_value=0 ev7_value=20 ev8_value=21
-- expect: step: fill writes up to 512 B that use reads (parameter 1), and neither the node nor the child graph waits for the other | ev7_value=null
-- expect: step: memset writes 512 B that use uses (parameter 1), and neither the node nor the child graph waits for the other | ev6_value=null
-- test: quiet after two replays, and where edges were not recorded
INSERT INTO unordered_access (process_id, exec_id, graph_id, graph_name, writer_node_id, writer_name, other_node_id,
  other_name, other_role, reason, address, bytes, pairs, replays, confidence, known)
VALUES (1, 5, 4, 'cycle', 9, 'Recv', 8, 'Send', 'reads', 'same_group', 4096, 2048, 6, 2, 'high', 1),
  (1, 6, 4, 'cycle', 0, '', 0, '', '', '', 0, 0, 0, 30, 'low', 0);
-- expect: none
