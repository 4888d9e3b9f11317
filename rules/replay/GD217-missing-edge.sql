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
--   nodes without a path between them may run at the same time. When one writes what the other uses, the result depends
--   on which comes first, and it may be right in every eager run. Sends and receives of one group always run at the same
--   time, also on one stream.
-- fix: Give the two buffers of their own, as the two that a ring of sends and receives swaps at every hop. Or order them:
--   record an event after the first (cudaEventRecord, torch.cuda.Event.record) and let the other's stream wait for it
--   before the second (cudaStreamWaitEvent, Stream.wait_event), inside the capture.
-- source: CUDA programming guide, graph structure: nodes without a path may run concurrently; NCCL user guide, group
--   calls
-- message: {graph}: {writer:kernel} writes {bytes:bytes} that {other:kernel} {does}{param}, and {reason}
SELECT u.process_id, u.start_ns, u.end_ns, u.step, u.thread_id, u.stack_id,
  u.confidence, u.exec_id AS root_id, u.exec_id, u.graph_name AS graph,
  u.writer_name AS writer, u.other_name AS other, u.bytes,
  CASE u.other_role WHEN 'reads' THEN 'reads' WHEN 'writes' THEN 'writes, too'
    ELSE 'uses' END AS does,
  COALESCE(' (parameter ' || u.other_param || ')', '') AS param,
  CASE u.reason WHEN 'same_group'
    THEN 'both are in one group of sends and receives, which run at the same time'
    ELSE 'neither waits for the other' END AS reason,
  'graph_node' AS evidence_table, u.writer_node_id AS evidence_id,
  'address' AS ev1_label, printf('0x%x', u.address) AS ev1_value,
  'such pairs in the graph' AS ev2_label, u.pairs AS ev2_value,
  'stream of the writer' AS ev3_label, u.writer_stream_id AS ev3_value,
  'stream of the other' AS ev4_label, u.other_stream_id AS ev4_value,
  'replays' AS ev5_label, u.replays AS ev5_value
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
-- test: quiet after two replays, and where edges were not recorded
INSERT INTO unordered_access (process_id, exec_id, graph_id, graph_name, writer_node_id, writer_name, other_node_id,
  other_name, other_role, reason, address, bytes, pairs, replays, confidence, known)
VALUES (1, 5, 4, 'cycle', 9, 'Recv', 8, 'Send', 'reads', 'same_group', 4096, 2048, 6, 2, 'high', 1),
  (1, 6, 4, 'cycle', 0, '', 0, '', '', '', 0, 0, 0, 30, 'low', 0);
-- expect: none
