-- SPDX-License-Identifier: Apache-2.0
-- rule: GD102 foreign-thread
-- title: Another thread broke the capture
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: A capture in global mode forbids every thread of the process the calls that could disturb it:
--   allocations, frees, event queries, synchronises, module loads. The other thread gets 900, the capture is
--   invalidated, and its thread sees only 901 without a culprit. The error may kill the other thread too.
-- fix: Capture with capture_error_mode="thread_local" (torch.cuda.graph, make_graphed_callables) or
--   cudaStreamCaptureModeThreadLocal. Or keep helpers quiet: create data loaders with pin_memory after the capture,
--   drain NCCL work before it, upgrade PyTorch (its watchdog is guarded since 2.2), and let helper threads of your
--   own bracket such calls with cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureModeRelaxed).
-- source: CUDA driver API, cuThreadExchangeStreamCaptureMode; pytorch/pytorch issues 104487, 104555, 175425,
--   188832
-- message: {call} on thread {thread} ({kind}) failed with {result} and broke the {mode} capture {region} of thread {begin_thread}
SELECT c.process_id, c.fail_start_ns AS start_ns, c.fail_end_ns AS end_ns,
  c.step,
  c.fail_thread_id AS thread_id, c.fail_stack_id AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', '') AS call,
  COALESCE(c.fail_result_name, c.fail_result) AS result,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  COALESCE(c.fail_thread, c.fail_thread_id) AS thread,
  COALESCE(c.begin_thread, c.begin_thread_id) AS begin_thread,
  c.fail_sub_kind AS kind,
  c.mode,
  'capture mode' AS ev1_label, c.mode AS ev1_value,
  'last captured before it' AS ev2_label, c.last_node AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value,
  'failures that follow in the capture' AS ev4_label,
  c.later_failures AS ev4_value
FROM capture_outcome AS c
WHERE c.mode = 'global' AND c.fail_result = 900 AND c.fail_same_device
  AND NOT c.fail_same_thread AND NOT COALESCE(c.fail_member_stream, FALSE)
  AND NOT COALESCE(c.fail_member_event, FALSE) AND NOT c.abandoned
  AND NOT COALESCE(c.fail_in_tool, FALSE)
  AND NOT EXISTS (
    SELECT * FROM capture_outcome AS own
    WHERE own.process_id = c.process_id
      AND own.begin_thread_id = c.fail_thread_id
      AND own.start_ns <= c.fail_start_ns AND own.end_ns >= c.fail_end_ns)
ORDER BY c.process_id, c.capture_id;
-- test: fires when a pinning thread allocates
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, mode, fail_same_device, fail_sub_kind, fail_thread,
  fail_thread_id, begin_thread, begin_thread_id, fail_start_ns, fail_end_ns,
  start_ns, end_ns)
VALUES (1, 1, 1, 7, 'ended_error', 'cuMemHostAlloc', 'cudaHostAlloc', 'ALLOC', 900, 'E900', 0, 'global', 1, 'pin_memory', 'pt_data_pin', 2, 'main', 1, 20, 30, 10, 90);
-- expect: cuMemHostAlloc [cudaHostAlloc] on thread pt_data_pin (pin_memory) failed with E900 and broke the global capture of stream 7 of thread main
-- test: quiet: same call on the capturing thread, on a member, on another device, in other modes, other codes
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, mode, fail_same_device, fail_member_stream,
  fail_member_event)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 1, 'global', 1, 0, 0),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0, 'global', 1, 1, 0),
  (1, 3, 3, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0, 'global', 0, 0, 0),
  (1, 4, 4, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0, 'thread_local', 1, 0, 0),
  (1, 5, 5, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 901, 'E900', 0, 'global', 1, 0, 0),
  (1, 6, 6, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 600, 'E900', 0, 'global', 1, 0, 0),
  (1, 7, 7, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0, 'global', 1, 0, 1),
  (1, 8, 8, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 899, 'E900', 0, 'global', 1, 0, 0);
-- expect: none
-- test: quiet when a tool made the call, and in a capture that had been left open
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, mode, fail_same_device, fail_in_tool, abandoned)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0, 'global', 1, 1, 0),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0, 'global', 1, 0, 1);
-- expect: none
-- test: quiet when the other thread was stopped by a capture of its own
INSERT INTO capture_outcome (
  process_id, capture_id, root_capture_id, mode, begin_thread_id, start_ns,
  end_ns, fail_api, fail_class, fail_result, fail_same_thread,
  fail_same_device, fail_thread_id, fail_start_ns, fail_end_ns)
VALUES (1, 1, 1, 'global', 1, 10, 90, 'cuMemAlloc', 'ALLOC', 900, 0, 1, 2, 20, 30),
  (1, 2, 2, 'thread_local', 2, 15, 80, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
-- expect: none
