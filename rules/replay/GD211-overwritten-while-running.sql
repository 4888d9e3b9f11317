-- SPDX-License-Identifier: Apache-2.0
-- rule: GD211 overwritten-while-running
-- title: Memory of a graph is overwritten on another stream while the graph runs
-- severity: error
-- impact: wrong
-- confidence: medium
-- root: exec
-- needs: node_params>=partial, callbacks>=partial, eager_kernel_activity>=partial, graph_trace|node_activity>=partial
-- param times_min: 3
-- param bytes_min: 16
-- why: A graph reads its inputs at the addresses of its capture, whenever it gets to run. A copy into them on another
--   stream must wait for the replay that still reads them, and the next replay for the copy. When two threads or streams
--   share one executable, its launches follow on each other, but what each stream copies in before and out after them
--   does not wait for the other stream: one request overwrites the other's. A lock around the launch call orders the
--   calls, not the work. Nothing fails, results are wrong.
-- fix: Record an event behind the replay and let the copying stream wait for it before the copy (cudaStreamWaitEvent,
--   Stream.wait_stream), and the replay for the copy. Or copy and replay on one stream. Or give each stream or thread an
--   executable with input and output of its own: to instantiate one graph twice is not enough, capture it for each.
-- source: CUDA programming guide, streams: work of two streams has no order; CUDA driver API, cuGraphLaunch: a launch is
--   ordered behind the work in its stream and behind the launches of the executable
-- message: {graph}: {bytes:bytes} that it uses were written on another stream while it ran, {times:count time}, {how}
SELECT c.process_id, c.start_ns, c.end_ns, c.step, c.thread_id, c.stack_id,
  c.confidence, c.exec_id AS root_id, c.exec_id, c.graph_name AS graph, c.bytes,
  c.times,
  CASE WHEN c.launched_beside
    THEN 'and both streams launch it'
    ELSE 'and the copies do not wait for it' END AS how,
  'address' AS ev1_label, printf('0x%x', c.address) AS ev1_value,
  'call' AS ev2_label, c.api AS ev2_value,
  'stream of the call' AS ev3_label, c.stream_id AS ev3_value,
  'stream of the replay' AS ev4_label, c.replay_stream_id AS ev4_value,
  'longest time both ran' AS ev5_label, c.overlap_ns AS ev5_value,
  'ns' AS ev5_unit,
  'replays' AS ev6_label, c.replays AS ev6_value,
  'waits for events between their streams' AS ev7_label,
  CASE c.confidence WHEN 'low' THEN 'not recorded' END AS ev7_value
FROM unordered_copy AS c
WHERE c.times >= :times_min AND c.bytes >= :bytes_min
ORDER BY c.process_id, c.exec_id;
-- test: fires for two streams that launch one executable, at the least number of times
INSERT INTO unordered_copy (process_id, exec_id, graph_name, api, stream_id, replay_stream_id, launched_beside,
  address, bytes, times, replays, overlap_ns, start_ns, end_ns, thread_id, stack_id, confidence)
VALUES (1, 5, 'serve', 'cuMemcpyDtoDAsync', 15, 16, 1, 4096, 2048, 3, 40, 5000, 100, 900, 4, 8, 'medium');
-- expect: serve: 2.00 KiB that it uses were written on another stream while it ran, 3 times, and both streams launch it | root_id=5 stack_id=8 confidence=medium severity=error ev7_value=null
-- test: fires for a prefetcher, at the least number of bytes; not sure where waits were not recorded
INSERT INTO unordered_copy (process_id, exec_id, graph_name, api, stream_id, replay_stream_id, launched_beside,
  address, bytes, times, replays, overlap_ns, start_ns, end_ns, confidence)
VALUES (1, 5, 'train', 'cuMemcpyHtoDAsync', 15, 16, 0, 4096, 16, 30, 40, 5000, 100, 900, 'low');
-- expect: train: 16 B that it uses were written on another stream while it ran, 30 times, and the copies do not wait for it | confidence=low ev7_value='not recorded'
-- test: quiet where it happened twice, and for a flag that the graph is meant to see
INSERT INTO unordered_copy (process_id, exec_id, graph_name, api, stream_id, replay_stream_id, launched_beside,
  address, bytes, times, replays, overlap_ns, start_ns, end_ns, confidence)
VALUES (1, 5, 'train', 'cuMemcpyHtoDAsync', 15, 16, 0, 4096, 2048, 2, 40, 5000, 100, 900, 'medium'),
  (1, 6, 'loop', 'cuMemcpyHtoDAsync', 15, 16, 0, 4096, 15, 30, 40, 5000, 100, 900, 'medium');
-- expect: none
