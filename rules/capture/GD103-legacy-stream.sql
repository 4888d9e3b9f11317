-- SPDX-License-Identifier: Apache-2.0
-- rule: GD103 legacy-stream
-- title: Legacy default stream used while a blocking stream captures
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: Streams made without the non-blocking flag wait for the legacy default stream and are waited for by it.
--   While one captures, any launch, copy or synchronise on the legacy stream would make it depend on work that does
--   not run: the call gets 906, or the capture ends with 901.
-- fix: Create capture streams with cudaStreamNonBlocking (torch.cuda.Stream is) and hand the stream to every
--   library (cublasSetStream, cudnnSetStream, torch.cuda.stream()). Build with --default-stream per-thread. Warm up
--   on the capture stream. The flag alone removes only the error: work that still goes to the legacy stream then
--   runs once and is missing from every replay (GD114), so run again and look for that.
-- source: CUDA runtime API, stream synchronisation behaviour; results 906 and 901 tried on an H200
-- message: {what} touched the legacy default stream during the capture {region}{outcome}
SELECT c.process_id, COALESCE(c.fail_start_ns, c.start_ns) AS start_ns,
  COALESCE(c.fail_end_ns, c.end_ns) AS end_ns, c.step,
  COALESCE(c.fail_thread_id, c.legacy_thread_id) AS thread_id,
  COALESCE(c.fail_stack_id, c.legacy_stack_id, c.end_stack_id) AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  COALESCE(c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', ''),
    CASE c.legacy_calls WHEN 1 THEN '1 launch or copy'
      ELSE c.legacy_calls || ' launches or copies' END) AS what,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  COALESCE(' and failed with ' || c.fail_result_name,
    ', which ended with ' || c.end_result_name, '') AS outcome,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  'capture stream is non-blocking' AS ev1_label,
  CASE c.origin_non_blocking WHEN TRUE THEN 'yes' WHEN FALSE THEN 'no' END
    AS ev1_value,
  'uses of the legacy stream in the capture' AS ev2_label,
  c.legacy_calls AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value
FROM capture_outcome AS c
WHERE NOT c.abandoned AND (c.fail_result = 906
  OR (c.fail_api IS NULL AND c.end_result = 901 AND c.legacy_calls > 0
    AND NOT c.origin_non_blocking))
ORDER BY c.process_id, c.capture_id;
-- test: fires on the code of an implicit dependency
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread)
VALUES (1, 1, 1, 7, 'ended_error', 'cuLaunchKernel', 'cudaLaunchKernel', 'LAUNCH', 906, 'E906', 1);
-- expect: cuLaunchKernel [cudaLaunchKernel] touched the legacy default stream during the capture of stream 7 and failed with E906
-- test: fires when no call failed, yet the blocking stream's capture is invalid
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, end_result,
  end_result_name, legacy_calls, origin_non_blocking)
VALUES (1, 1, 1, 7, 901, 'E901', 1, 0);
-- expect: 1 launch or copy touched the legacy default stream during the capture of stream 7, which ended with E901
-- test: quiet without legacy work, on a non-blocking stream, after another failure, with another end
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, end_result,
  legacy_calls, origin_non_blocking, fail_api, fail_result)
VALUES (1, 1, 1, 7, 901, 0, 0, NULL, NULL),
  (1, 2, 2, 7, 901, 3, 1, NULL, NULL),
  (1, 3, 3, 7, 901, 3, 0, 'cuMemAlloc', 900),
  (1, 4, 4, 7, 900, 3, 0, NULL, NULL),
  (1, 5, 5, 7, 902, 3, 0, NULL, NULL),
  (1, 6, 6, 7, 901, 3, 0, 'cuMemAlloc', 905),
  (1, 7, 7, 7, 901, 3, 0, 'cuMemAlloc', 907);
-- expect: none
-- test: quiet in a capture that had been left open
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, abandoned)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 906, 'E900', 1, 1);
-- expect: none
