-- SPDX-License-Identifier: Apache-2.0
-- rule: GD104 unjoined-fork
-- title: Forked stream not joined before the capture ends
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: A stream that waits for an event of the capture becomes a part of it. Its last work must lead back to
--   the stream that began the capture; work that nothing waits for makes cudaStreamEndCapture fail with 904, and
--   there is no graph.
-- fix: Before the end, record an event on the side stream and let the origin wait for it: cudaEventRecord(e,
--   side); cudaStreamWaitEvent(origin, e). In PyTorch: torch.cuda.current_stream().wait_stream(side) inside the
--   capture, also for streams of libraries (all-gather and reduce-scatter overlap, prefetch). A join through a third
--   stream counts only if that one is joined too.
-- source: CUDA driver API, cuStreamEndCapture, CUDA_ERROR_STREAM_CAPTURE_UNJOINED; NVIDIA/Megatron-LM issue
--   6077
-- message: the capture {region} ended with {result}: stream {stray} took part and was not joined
SELECT c.process_id, c.start_ns, c.end_ns, c.step,
  COALESCE(c.end_thread_id, c.begin_thread_id) AS thread_id,
  COALESCE(c.stray_stack_id, c.end_stack_id, c.begin_stack_id) AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  COALESCE(c.end_result_name, c.end_result) AS result,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  COALESCE(c.stray_stream_id, 'of an unknown number') AS stray,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  'origin stream' AS ev1_label, c.stream_id AS ev1_value,
  'stream that was not joined' AS ev2_label, c.stray_stream_id AS ev2_value,
  'nodes captured' AS ev3_label, c.node_count AS ev3_value,
  'last captured' AS ev4_label, c.last_node AS ev4_value
FROM capture_outcome AS c
WHERE c.end_result = 904
ORDER BY c.process_id, c.capture_id;
-- test: fires with the place where the stray stream joined
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, end_result,
  end_result_name, stray_stream_id, stray_stack_id, end_stack_id)
VALUES (1, 1, 1, 7, 'ended_error', 904, 'E904', 9, 5, 6);
-- expect: the capture of stream 7 ended with E904: stream 9 took part and was not joined | stack_id=5 root_id=1
-- test: quiet for joined forks and other ends
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, end_result)
VALUES (1, 1, 1, 0),
  (1, 2, 2, 903),
  (1, 3, 3, 905),
  (1, 4, 4, NULL);
-- expect: none
