-- SPDX-License-Identifier: Apache-2.0
-- rule: GD101 sync-in-capture
-- title: Synchronising or querying call inside a capture
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: While a stream captures, nothing runs: there is nothing to wait for and nothing to ask. Such a call
--   fails, invalidates the capture, and every later call on its streams fails with 901.
-- fix: Move .item(), .cpu(), print(tensor), torch.cuda.synchronize() and event or stream queries out of the
--   captured region. Accumulate metrics in a device tensor and read them after the replay with a copy to pinned
--   memory (non_blocking=True) and an event. Replace host branches on device values by torch.where or conditional
--   nodes. In C++: no cudaStreamSynchronize, cudaDeviceSynchronize, cudaEventQuery or cudaMemcpy between
--   cudaStreamBeginCapture and cudaStreamEndCapture; use cudaMemcpyAsync and synchronise after cudaGraphLaunch.
-- source: CUDA programming guide, stream capture, prohibited and unhandled operations; results 900, 901, 906
--   and 907 of cuStreamSynchronize, cuEventQuery and cuCtxSynchronize tried on an H200
-- message: {call} inside the capture {region} failed with {result}
SELECT c.process_id, c.fail_start_ns AS start_ns, c.fail_end_ns AS end_ns,
  c.step,
  c.fail_thread_id AS thread_id, c.fail_stack_id AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', '') AS call,
  COALESCE(c.fail_result_name, c.fail_result) AS result,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  'capture mode' AS ev1_label, c.mode AS ev1_value,
  'last captured before it' AS ev2_label, c.last_node AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value,
  'failures that follow in the capture' AS ev4_label,
  c.later_failures AS ev4_value
FROM capture_outcome AS c
WHERE c.fail_class IN ('SYNC', 'QUERY', 'COPY_SYNC')
  AND c.fail_result IN (900, 901, 906, 907)
  AND (c.fail_same_thread OR c.fail_member_stream OR c.fail_member_event)
  AND NOT c.abandoned AND NOT COALESCE(c.fail_in_tool, FALSE)
ORDER BY c.process_id, c.capture_id;
-- test: fires for each way to wait, with each of the codes
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 1),
  (1, 2, 2, 7, 'ended_error', 'cuEventQuery', 'cudaEventQuery', 'QUERY', 907, 'E907', 1),
  (1, 3, 3, 7, 'ended_error', 'cuMemcpyDtoH', 'cudaMemcpy', 'COPY_SYNC', 906, 'E906', 1),
  (1, 4, 4, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 901, 'E901', 1);
-- expect: cuStreamSynchronize [cudaStreamSynchronize] inside the capture of stream 7 failed with E900 | root_id=1
-- expect: cuEventQuery [cudaEventQuery] inside the capture of stream 7 failed with E907 | root_id=2
-- expect: cuMemcpyDtoH [cudaMemcpy] inside the capture of stream 7 failed with E906 | root_id=3
-- expect: cuStreamSynchronize [cudaStreamSynchronize] inside the capture of stream 7 failed with E901 | root_id=4
-- test: fires on another thread that names a stream or an event of the capture
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_member_stream, fail_member_event)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0, 1, 0),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0, 0, 1);
-- expect: cuStreamSynchronize [cudaStreamSynchronize] inside the capture of stream 7 failed with E900 | capture_id=1
-- expect: cuStreamSynchronize [cudaStreamSynchronize] inside the capture of stream 7 failed with E900 | capture_id=2
-- test: quiet for other codes and for an allocation
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 700, 'E900', 1),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 905, 'E900', 1),
  (1, 3, 3, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 908, 'E900', 1),
  (1, 4, 4, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 899, 'E900', 1),
  (1, 5, 5, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 902, 'E900', 1),
  (1, 6, 6, 7, 'ended_error', 'cuMemAlloc', 'cudaMalloc', 'ALLOC', 900, 'E900', 1);
-- expect: none
-- test: quiet for another thread that names nothing of the capture: GD102
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 0);
-- expect: none
-- test: quiet when the capture had been left open before: GD108
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, abandoned)
VALUES (1, 1, 1, 7, 'not_ended', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 1, 1);
-- expect: none
-- test: quiet when a tool made the call
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_in_tool)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 1, 1);
-- expect: none
-- test: quiet when a synchronise of an idle stream in a relaxed capture succeeded
INSERT INTO capture_outcome (process_id, capture_id, stream_id, state, mode)
VALUES (1, 1, 7, 'ended_ok', 'relaxed');
-- expect: none
