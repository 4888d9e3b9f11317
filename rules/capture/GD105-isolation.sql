-- SPDX-License-Identifier: Apache-2.0
-- rule: GD105 isolation
-- title: Capture depends on work that was not captured
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: A captured stream may only wait for events that were recorded inside the same capture: a graph cannot
--   wait for work of the past. Autograd, FSDP and DDP remember the stream of the warm-up and wait for it from inside
--   the capture.
-- fix: Make the dependency before cudaStreamBeginCapture (stream.wait_stream), or record the event inside. Warm
--   up, build DDP and FSDP, and run the first backward on the capture stream; keep FSDP's reshard_after_forward at
--   its default; torch.autograd.graph.set_override_stale_capture_stream(True) where it exists. For a wait on purpose
--   across graphs use cudaStreamWaitEvent with cudaEventWaitExternal.
-- source: CUDA driver API, CUDA_ERROR_STREAM_CAPTURE_ISOLATION; pytorch/pytorch issues 180090 and 64339,
--   NVIDIA/Megatron-LM issue 6021
-- message: {call} inside the capture {region} failed with {result}: {origin}
SELECT c.process_id, c.fail_start_ns AS start_ns, c.fail_end_ns AS end_ns,
  c.step,
  c.fail_thread_id AS thread_id, c.fail_stack_id AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', '') AS call,
  COALESCE(c.fail_result_name, c.fail_result) AS result,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  CASE WHEN c.fail_event_before THEN 'its event had been recorded before the capture'
      WHEN c.fail_event_before IS NULL THEN 'it waits for work outside the capture'
      ELSE 'its event was recorded on a stream outside the capture' END AS origin,
  'capture mode' AS ev1_label, c.mode AS ev1_value,
  'last captured before it' AS ev2_label, c.last_node AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value,
  'failures that follow in the capture' AS ev4_label,
  c.later_failures AS ev4_value
FROM capture_outcome AS c
WHERE NOT c.abandoned AND (c.fail_result = 905
  OR (c.fail_result = 901 AND c.fail_sub_kind = 'autograd'
    AND c.fail_class IN ('EDGE', 'LAUNCH')
    AND NOT COALESCE(c.fail_member_stream, FALSE)))
ORDER BY c.process_id, c.capture_id;
-- test: fires for events of before, of elsewhere, and unknown ones
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_event_before)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamWaitEvent', 'cudaStreamWaitEvent', 'EDGE', 905, 'E905', 1, 1),
  (1, 2, 2, 7, 'ended_error', 'cuStreamWaitEvent', 'cudaStreamWaitEvent', 'EDGE', 905, 'E905', 1, 0),
  (1, 3, 3, 7, 'ended_error', 'cuStreamWaitEvent', 'cudaStreamWaitEvent', 'EDGE', 905, 'E905', 1, NULL);
-- expect: cuStreamWaitEvent [cudaStreamWaitEvent] inside the capture of stream 7 failed with E905: its event had been recorded before the capture
-- expect: cuStreamWaitEvent [cudaStreamWaitEvent] inside the capture of stream 7 failed with E905: its event was recorded on a stream outside the capture
-- expect: cuStreamWaitEvent [cudaStreamWaitEvent] inside the capture of stream 7 failed with E905: it waits for work outside the capture
-- test: fires when autograd uses a stream of the warm-up
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_sub_kind, fail_member_stream)
VALUES (1, 1, 1, 7, 'ended_error', 'cuLaunchKernel', 'cudaLaunchKernel', 'LAUNCH', 901, 'E901', 0, 'autograd', 0);
-- expect: cuLaunchKernel [cudaLaunchKernel] inside the capture of stream 7 failed with E901: it waits for work outside the capture
-- test: quiet for other codes, threads, calls, and members
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_sub_kind, fail_member_stream)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'EDGE', 904, 'E900', 1, NULL, 0),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'EDGE', 906, 'E900', 1, NULL, 0),
  (1, 3, 3, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'EDGE', 901, 'E900', 0, 'user_worker', 0),
  (1, 4, 4, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 901, 'E900', 0, 'autograd', 0),
  (1, 5, 5, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'EDGE', 901, 'E900', 0, 'autograd', 1),
  (1, 6, 6, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'EDGE', 900, 'E900', 0, 'autograd', 0),
  (1, 7, 7, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'EDGE', 902, 'E900', 0, 'autograd', 0);
-- expect: none
-- test: quiet in a capture that had been left open
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, abandoned)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 905, 'E900', 1, 1);
-- expect: none
