-- SPDX-License-Identifier: Apache-2.0
-- rule: GD106 merged-captures
-- title: Two captures were merged
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: An event of one capture was waited for in another. One graph cannot depend on the inside of a second
--   one: the call fails with 902, and both captures are invalid.
-- fix: Let one capture at a time use a chain of events and streams. Give each capture its own side streams and
--   events; capture NCCL either in the outer graph or in a conditional body, not in both; serialise captures of
--   several threads that share library streams.
-- source: CUDA driver API, CUDA_ERROR_STREAM_CAPTURE_MERGE; pytorch/pytorch issue 191681
-- message: {call} in the capture {region} failed with {result}: it would join capture {other}
SELECT c.process_id, c.fail_start_ns AS start_ns, c.fail_end_ns AS end_ns,
  c.step,
  c.fail_thread_id AS thread_id, c.fail_stack_id AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', '') AS call,
  COALESCE(c.fail_result_name, c.fail_result) AS result,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  COALESCE(c.fail_other_capture_id, 'of another stream') AS other,
  'capture mode' AS ev1_label, c.mode AS ev1_value,
  'last captured before it' AS ev2_label, c.last_node AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value,
  'failures that follow in the capture' AS ev4_label,
  c.later_failures AS ev4_value
FROM capture_outcome AS c
WHERE c.fail_result = 902 AND NOT c.abandoned
ORDER BY c.process_id, c.capture_id;
-- test: fires and names the other capture
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_other_capture_id)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamWaitEvent', 'cudaStreamWaitEvent', 'EDGE', 902, 'E902', 1, 2);
-- expect: cuStreamWaitEvent [cudaStreamWaitEvent] in the capture of stream 7 failed with E902: it would join capture 2
-- test: quiet for neighbouring codes and in a capture that had been left open
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, abandoned)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 901, 'E900', 1, 0),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 903, 'E900', 1, 0),
  (1, 3, 3, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 902, 'E900', 1, 1);
-- expect: none
