-- SPDX-License-Identifier: Apache-2.0
-- rule: GD102 foreign-thread
-- title: Another thread broke the capture, or will some day
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- param expected_min: 0.05
-- param calls_min: 10
-- param missed_max: 3
-- param span_s_min: 1
-- param tenths_min: 5
-- why: A capture in global mode forbids every thread of the process the calls that could disturb it:
--   allocations, frees, event queries, synchronises, module loads. The other thread gets 900, the capture is
--   invalidated, and its thread sees only 901 without a culprit. The error may kill the other thread too. Where a
--   thread makes such calls so often that one falls into every twentieth capture or more, it is a matter of time: a
--   warning, though all captures of this run ended well. Where they should have met three calls and met none, the
--   thread keeps away from captures, and there is nothing to warn of; nor where the calls are a burst (less than a
--   second, or less than half of the thread's life), nor of PyTorch's backward threads, which work only while the
--   thread that captures waits for them.
-- fix: Capture with capture_error_mode="thread_local" (torch.cuda.graph, make_graphed_callables) or
--   cudaStreamCaptureModeThreadLocal. Or keep helpers quiet: create data loaders with pin_memory after the capture,
--   drain NCCL work before it, upgrade PyTorch (its watchdog is guarded since 2.2), and let helper threads of your
--   own bracket such calls with cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureModeRelaxed).
-- source: CUDA driver API, cuThreadExchangeStreamCaptureMode; pytorch/pytorch issues 104487, 104555, 175425,
--   188832
-- message: {what}
SELECT c.process_id, c.fail_start_ns AS start_ns, c.fail_end_ns AS end_ns,
  c.step,
  c.fail_thread_id AS thread_id, c.fail_stack_id AS stack_id,
  c.root_capture_id AS root_id, 'error' AS severity, 'high' AS confidence,
  printf('%s on thread %s (%s) failed with %s and broke the %s capture %s of thread %s',
    c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', ''),
    COALESCE(c.fail_thread, c.fail_thread_id), COALESCE(c.fail_sub_kind, 'unknown'),
    COALESCE(c.fail_result_name, c.fail_result), c.mode,
    COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id),
    COALESCE(c.begin_thread, c.begin_thread_id)) AS what,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
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
UNION ALL
SELECT r.process_id, r.start_ns, r.end_ns, NULL, r.thread_id, r.stack_id,
  r.capture_id, 'warning', 'medium',
  printf('%s is called %.1f times a second on thread %s: a global capture is open for %.1f ms, so one in %.0f will meet such a call and break',
    r.api || COALESCE(' [' || r.runtime_api || ']', ''), r.rate_per_s,
    COALESCE(r.thread, r.thread_id), r.mean_open_ns / 1e6,
    MAX(1, 1 / r.expected)),
  'capture', r.capture_id,
  'capture mode', 'global', 'captures in that time', r.captures,
  'such calls', r.calls, 'calls to expect in a capture',
  printf('%.2f', r.expected)
FROM capture_risk AS r
WHERE r.known AND r.expected > :expected_min AND r.calls >= :calls_min
  AND r.expected * r.captures <= :missed_max
  AND r.end_ns - r.start_ns >= :span_s_min * 1e9 AND r.tenths >= :tenths_min
ORDER BY 1, 7;
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
-- test: a warning when a thread polls so often that a capture will meet it
INSERT INTO capture_risk (process_id, capture_id, thread_id, thread, api, runtime_api, calls,
  rate_per_s, captures, mean_open_ns, expected, tenths, start_ns, end_ns, stack_id)
VALUES (1, 3, 2, 'pt_data_pin', 'cuMemHostAlloc', 'cudaHostAlloc', 10, 20, 4, 5000000, 0.1, 10, 0, 1000000000, 7),
  (2, 3, 2, NULL, 'cuEventQuery', NULL, 5000, 100, 2, 5000000, 0.5, 10, 0, 1000000000, NULL);
-- expect: cuMemHostAlloc [cudaHostAlloc] is called 20.0 times a second on thread pt_data_pin: a global capture is open for 5.0 ms, so one in 10 will meet such a call and break | severity=warning confidence=medium root_id=3 stack_id=7 thread_id=2
-- expect: cuEventQuery is called 100.0 times a second on thread 2: a global capture is open for 5.0 ms, so one in 2 will meet such a call and break | severity=warning
-- test: just above the expectation a warning, at exactly it, below it, with too few calls or not known quiet
INSERT INTO capture_risk (process_id, capture_id, thread_id, thread, api, calls, rate_per_s,
  captures, mean_open_ns, expected, tenths, start_ns, end_ns, known)
VALUES (1, 3, 2, 'worker', 'cuMemFree', 10, 10, 4, 5500000, 0.055, 10, 0, 1000000000, 1),
  (2, 3, 2, 'worker', 'cuMemFree', 10, 10, 4, 5000000, 0.05, 10, 0, 1000000000, 1),
  (3, 3, 2, 'worker', 'cuMemFree', 10, 10, 4, 4500000, 0.045, 10, 0, 1000000000, 1),
  (4, 3, 2, 'worker', 'cuMemFree', 9, 10, 4, 5500000, 0.055, 10, 0, 1000000000, 1),
  (5, 3, 2, 'worker', 'cuMemFree', 10, 10, 4, 5500000, 0.055, 10, 0, 1000000000, 0);
-- expect: cuMemFree is called 10.0 times a second on thread worker: a global capture is open for 5.5 ms, so one in 18 will meet such a call and break | process_id=1
-- test: quiet when captures should have met three calls and met none; at three exactly a warning
INSERT INTO capture_risk (process_id, capture_id, thread_id, thread, api, calls, rate_per_s,
  captures, mean_open_ns, expected, tenths, start_ns, end_ns)
VALUES (1, 3, 2, 'pt_autograd_0', 'cuEventQuery', 5000, 1000, 4, 5000000, 5, 10, 0, 1000000000),
  (2, 3, 2, 'worker', 'cuEventQuery', 5000, 100, 6, 5000000, 0.5, 10, 0, 1000000000),
  (3, 3, 2, 'worker', 'cuEventQuery', 5000, 100, 7, 5000000, 0.5, 10, 0, 1000000000);
-- expect: cuEventQuery is called 100.0 times a second on thread worker: a global capture is open for 5.0 ms, so one in 2 will meet such a call and break | process_id=2
-- test: quiet for a burst: just below a second, or in fewer than five tenths of the thread's life
INSERT INTO capture_risk (process_id, capture_id, thread_id, thread, api, calls, rate_per_s,
  captures, mean_open_ns, expected, tenths, start_ns, end_ns)
VALUES (1, 3, 2, 'worker', 'cuMemAlloc', 18, 78, 2, 2800000, 0.22, 10, 1, 1000000000),
  (2, 3, 2, 'worker', 'cuMemAlloc', 18, 78, 2, 2800000, 0.22, 4, 0, 1000000000),
  (3, 3, 2, 'worker', 'cuMemAlloc', 18, 78, 2, 2800000, 0.22, 5, 0, 1000000000);
-- expect: cuMemAlloc is called 78.0 times a second on thread worker: a global capture is open for 2.8 ms, so one in 5 will meet such a call and break | process_id=3
