-- SPDX-License-Identifier: Apache-2.0
-- rule: GD108 never-ended
-- title: Capture never ended, or ended on the wrong stream or thread
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: A capture lasts until cudaStreamEndCapture on the stream that began it, by the thread that began it (any
--   thread in relaxed mode). Left open by an early return or an exception, it forbids its thread, or in global mode
--   all threads, nearly everything: synchronises and allocations fail with 900, BeginCapture with 401, far from the
--   cause.
-- fix: Tie the end to the begin: with torch.cuda.graph(g): in Python, a guard object that calls
--   cudaStreamEndCapture in its destructor in C++. End on the origin stream; begin in cudaStreamCaptureModeRelaxed
--   if another thread has to end it. On an error path end first, then destroy the graph it may return, then raise.
-- source: CUDA driver API, cuStreamEndCapture, results 903 and 908; abandoned captures tried on an H200
-- message: the capture {region} {what}{first}
SELECT c.process_id, c.start_ns, c.end_ns, c.step,
  c.begin_thread_id AS thread_id,
  CASE WHEN c.end_result IN (903, 908) THEN COALESCE(c.end_stack_id, c.begin_stack_id)
    ELSE c.begin_stack_id END AS stack_id,
  c.root_capture_id AS root_id, c.capture_id, c.abandoned AS abandoned_first,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  CASE c.end_result WHEN 903 THEN 'was ended on a stream that it did not begin on'
    WHEN 908 THEN 'was ended by thread '
      || COALESCE(c.end_thread, c.end_thread_id, 'unknown') || ', begun by '
      || COALESCE(c.begin_thread, c.begin_thread_id)
    ELSE 'was never ended' END AS what,
  COALESCE('; first failing call: ' || c.fail_api
    || COALESCE(' [' || c.fail_runtime_api || ']', ''), '') AS first,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  'open for' AS ev1_label, c.open_ns AS ev1_value, 'ns' AS ev1_unit,
  'last captured' AS ev2_label, c.last_node AS ev2_value,
  'calls that failed in it' AS ev3_label,
  c.later_failures + (c.fail_api IS NOT NULL) AS ev3_value,
  'first failing result' AS ev4_label, c.fail_result_name AS ev4_value
FROM capture_outcome AS c
WHERE (c.end_result IN (903, 908)
  OR (c.state = 'not_ended' AND (c.fail_api IS NOT NULL OR c.left_scope
    OR c.process_closed OR c.open_ns > c.hang_after_ns)))
  -- After an error of the device no call works, an end of a capture included.
  AND NOT EXISTS (SELECT * FROM device_fault AS f
    WHERE f.process_id = c.process_id AND f.start_ns >= c.start_ns)
ORDER BY c.process_id, c.capture_id;
-- test: fires when later calls fail
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, abandoned, begin_stack_id, end_stack_id)
VALUES (1, 1, 1, 7, 'not_ended', 'cuCtxSynchronize', 'cudaDeviceSynchronize', 1, 5, NULL);
-- expect: the capture of stream 7 was never ended; first failing call: cuCtxSynchronize [cudaDeviceSynchronize] | stack_id=5 abandoned_first=1 ev3_value=1
-- test: fires when its thread left, when the process ends in order, and when it is open too long
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, left_scope,
  process_closed, open_ns, hang_after_ns)
VALUES (1, 1, 1, 7, 'not_ended', 1, 0, 5, 100),
  (1, 2, 2, 8, 'not_ended', NULL, 1, 5, 100),
  (1, 3, 3, 9, 'not_ended', 0, 0, 101, 100);
-- expect: the capture of stream 7 was never ended
-- expect: the capture of stream 8 was never ended
-- expect: the capture of stream 9 was never ended
-- test: fires for ends on the wrong stream and thread
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, end_result,
  end_thread, begin_thread, begin_stack_id, end_stack_id)
VALUES (1, 1, 1, 7, 'ended_error', 903, NULL, NULL, 5, 6),
  (1, 2, 2, 7, 'not_ended', 908, 'worker', 'main', 5, 6);
-- expect: the capture of stream 7 was ended on a stream that it did not begin on | stack_id=6
-- expect: the capture of stream 7 was ended by thread worker, begun by main | stack_id=6
-- test: quiet when the job was killed in the middle of a capture
INSERT INTO capture_outcome (
  process_id, capture_id, root_capture_id, state, open_ns, hang_after_ns)
VALUES (1, 1, 1, 'not_ended', 100, 100);
-- expect: none
-- test: quiet for ended captures, whatever their length and result
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, state, end_result, open_ns,
  hang_after_ns, process_closed, fail_api)
VALUES (1, 1, 1, 'ended_ok', 0, 500, 100, 1, NULL),
  (1, 2, 2, 'ended_error', 902, 5, 100, 1, 'cuMemAlloc'),
  (1, 3, 3, 'ended_error', 904, 5, 100, 1, NULL),
  (1, 4, 4, 'ended_error', 907, 5, 100, 1, NULL),
  (1, 5, 5, 'ended_error', 909, 5, 100, 1, NULL);
-- expect: none
-- test: quiet when the device failed meanwhile, but not for the fault of another process, or of one before
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, start_ns, process_closed)
VALUES (1, 1, 1, 7, 'not_ended', 100, 1), (2, 2, 2, 8, 'not_ended', 100, 1), (3, 3, 3, 9, 'not_ended', 100, 1);
INSERT INTO device_fault (process_id, result, start_ns) VALUES (1, 700, 100), (2, 700, 99);
-- expect: the capture of stream 8 was never ended
-- expect: the capture of stream 9 was never ended
