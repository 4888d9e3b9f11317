-- SPDX-License-Identifier: Apache-2.0
-- rule: GD113 not-cleaned-up
-- title: Failed capture was not cleaned up
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: An invalidated capture stays on its stream until cudaStreamEndCapture. Until then every call on it
--   returns 901, and the thread cannot capture anew; a sticky error surfaces in code that has nothing to do with it.
-- fix: Call cudaStreamEndCapture on the origin stream also when something failed, take the graph it may return
--   but do not destroy one it did not, clear cudaGetLastError, then capture again on a fresh stream. In PyTorch
--   leave the with torch.cuda.graph(g) block normally (it ends the capture), call g.reset(), and run eagerly.
-- source: CUDA driver API, cuStreamEndCapture; NVIDIA/warp issues 1957 and 1959
-- message: the failed capture {region} {what}
SELECT c.process_id, c.start_ns, c.end_ns, c.step,
  c.begin_thread_id AS thread_id,
  COALESCE(c.first_victim_stack_id, c.end_stack_id, c.begin_stack_id) AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  CASE c.state WHEN 'not_ended' THEN 'was never ended: ' || counted(c.later_failures, 'later call')
      || ' failed in it'
    ELSE 'left errors behind: ' || counted(c.victims_after, 'later call')
      || ' failed, the first ' || COALESCE(c.first_victim, 'unknown')
    END AS what,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  'first failing call' AS ev1_label, c.fail_api AS ev1_value,
  'its result' AS ev2_label, c.fail_result_name AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value
FROM capture_outcome AS c
WHERE c.fail_api IS NOT NULL AND (
  (c.state = 'not_ended' AND NOT c.abandoned AND c.later_failures > 0)
  OR (c.state = 'ended_error' AND NOT c.retried_ok AND c.victims_after > 0))
ORDER BY c.process_id, c.capture_id;
-- test: fires for an open and for an ended capture with victims
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  later_failures, victims_after, first_victim)
VALUES (1, 1, 1, 7, 'not_ended', 'cuMemAlloc', 1, 0, NULL),
  (1, 2, 2, 8, 'ended_error', 'cuMemAlloc', 0, 1, 'cuStreamBeginCapture');
-- expect: the failed capture of stream 7 was never ended: 1 later call failed in it
-- expect: the failed capture of stream 8 left errors behind: 1 later call failed, the first cuStreamBeginCapture
-- test: quiet without victims, after a good retry, when left open before anything failed, and for good captures
INSERT INTO capture_outcome (
  process_id, capture_id, root_capture_id, state, fail_api, later_failures,
  victims_after, retried_ok, abandoned)
VALUES (1, 1, 1, 'not_ended', 'cuMemAlloc', 0, 5, 0, 0),
  (1, 2, 2, 'ended_error', 'cuMemAlloc', 5, 0, 0, 0),
  (1, 3, 3, 'ended_error', 'cuMemAlloc', 5, 1, 1, 0),
  (1, 4, 4, 'not_ended', 'cuMemAlloc', 5, 0, 0, 1),
  (1, 5, 5, 'ended_ok', 'cuMemAlloc', 1, 1, 0, 0),
  (1, 6, 6, 'ended_error', NULL, 1, 1, 0, 0);
-- expect: none
