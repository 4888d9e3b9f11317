-- SPDX-License-Identifier: Apache-2.0
-- rule: GD107 captured-event
-- title: Host asked for an event recorded inside a capture
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: An event recorded in a capturing stream is a node of a graph, not something that happens:
--   cudaEventQuery, cudaEventSynchronize and cudaEventElapsedTime on it fail with 907. The caller is often innocent
--   (a caching allocator polls the event of a block with record_stream, or another thread does), and the call
--   invalidates a thread-local capture too. After the capture has ended, and after each replay, they fail as calls
--   with an invalid value or handle: no replay records such an event.
-- fix: Use separate events for the host: cudaEventRecordWithFlags(e, s, cudaEventRecordExternal) makes one that
--   replays record again. Do not call tensor.record_stream() on the capture stream and free the tensor while
--   capturing; keep such tensors alive until the capture ends. Take times around cudaGraphLaunch, not inside.
-- source: CUDA driver API, CUDA_ERROR_CAPTURED_EVENT; pytorch/pytorch issue 193982; thread-local case tried on
--   an H200
-- message: {call} failed with {result}: its event was recorded inside the capture {region}{afterwards}
SELECT c.process_id, c.fail_start_ns AS start_ns, c.fail_end_ns AS end_ns,
  c.step,
  c.fail_thread_id AS thread_id, c.fail_stack_id AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', '') AS call,
  COALESCE(c.fail_result_name, c.fail_result) AS result,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  CASE WHEN c.fail_result <> 907 THEN ', which has ended' ELSE '' END AS afterwards,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  'event recorded' AS ev5_label,
  c.fail_event_record_ns AS ev5_value,
  'ns' AS ev5_unit,
  'capture mode' AS ev1_label, c.mode AS ev1_value,
  'last captured before it' AS ev2_label, c.last_node AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value,
  'failures that follow in the capture' AS ev4_label,
  c.later_failures AS ev4_value
FROM capture_outcome AS c
WHERE (c.fail_result = 907 OR (c.fail_result IN (1, 400)
    AND c.fail_member_event AND c.fail_start_ns > c.end_ns))
  AND NOT c.abandoned
ORDER BY c.process_id, c.capture_id;
-- test: fires
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread)
VALUES (1, 1, 1, 7, 'ended_error', 'cuEventQuery', 'cudaEventQuery', 'QUERY', 907, 'E907', 1);
-- expect: cuEventQuery [cudaEventQuery] failed with E907: its event was recorded inside the capture of stream 7
-- test: fires for a call after the end, not for one inside that had another fault
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, end_ns, fail_api,
  fail_class, fail_result, fail_result_name, fail_start_ns, fail_same_thread, fail_member_event)
VALUES (1, 1, 1, 7, 'ended_ok', 50, 'cuEventSynchronize', 'SYNC', 1, 'E1', 51, 1, 1),
  (1, 2, 2, 7, 'ended_ok', 50, 'cuEventElapsedTime', 'QUERY', 400, 'E400', 60, 1, 1),
  (1, 3, 3, 7, 'ended_ok', 50, 'cuEventSynchronize', 'SYNC', 1, 'E1', 50, 1, 1),
  (1, 4, 4, 7, 'ended_ok', 50, 'cuEventSynchronize', 'SYNC', 1, 'E1', 60, 1, 0),
  (1, 5, 5, 7, 'ended_ok', 50, 'cuEventSynchronize', 'SYNC', 2, 'E2', 60, 1, 1),
  (1, 6, 6, 7, 'ended_ok', 50, 'cuEventElapsedTime', 'QUERY', 401, 'E401', 60, 1, 1);
-- expect: cuEventSynchronize failed with E1: its event was recorded inside the capture of stream 7, which has ended | root_id=1
-- expect: cuEventElapsedTime failed with E400: its event was recorded inside the capture of stream 7, which has ended | root_id=2
-- test: quiet for neighbouring codes and in a capture that had been left open
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, abandoned)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 906, 'E900', 1, 0),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 908, 'E900', 1, 0),
  (1, 3, 3, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 907, 'E900', 1, 1);
-- expect: none
