-- SPDX-License-Identifier: Apache-2.0
-- rule: GD111 destroyed-in-capture
-- title: Object destroyed while a capture is open
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: Destroying a graph, an executable, a stream, an event or a module acts at once and may wait for the device. A
--   capture in global or thread-local mode refuses it with 900 and is invalid from then on. Nobody asks for it on that
--   line: a garbage collector runs, the last reference to an old graph goes, or an autotuner drops a candidate. So it
--   comes and goes from run to run.
-- fix: Keep old objects alive until the capture has ended, or destroy them before it begins. Python: hold a reference to
--   the old torch.cuda.CUDAGraph, call gc.collect() before the capture and gc.disable() during it. Turning the collector
--   off does not help where the last reference goes (by "refcount" below): keep that reference. C++: move the old
--   cudaGraphExec_t out of the captured scope. Warm up Triton and autotuned kernels before the capture.
-- source: CUDA programming guide, prohibited and unhandled operations; pytorch/pytorch issue 161037; ROCm/ATOM issue
--   1339; sgl-project/sglang issue 35427
-- message: {call} of {object} inside the capture {region} failed with {result}{note}
SELECT c.process_id, c.fail_start_ns AS start_ns, c.fail_end_ns AS end_ns,
  c.step,
  c.fail_thread_id AS thread_id, c.fail_stack_id AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', '') AS call,
  COALESCE(c.fail_result_name, c.fail_result) AS result,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  CASE c.fail_api WHEN 'cuGraphExecDestroy' THEN 'executable '
    WHEN 'cuGraphDestroy' THEN 'graph ' WHEN 'cuStreamDestroy' THEN 'stream '
    WHEN 'cuEventDestroy' THEN 'event ' ELSE 'module ' END
    || COALESCE(c.fail_object_id, 'unknown') AS object,
  CASE c.fail_destroyed_by WHEN 'gc' THEN ': a garbage collector ran'
    WHEN 'refcount' THEN ': its last reference went' ELSE '' END AS note,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  'capture mode' AS ev1_label, c.mode AS ev1_value,
  'last captured before it' AS ev2_label, c.last_node AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value,
  'failures that follow in the capture' AS ev4_label,
  c.later_failures AS ev4_value,
  'destroyed by' AS ev5_label, c.fail_destroyed_by AS ev5_value,
  'age of the object' AS ev6_label,
  c.fail_start_ns - COALESCE(e.created_ns, g.created_ns, s.created_ns,
    v.created_ns) AS ev6_value, 'ns' AS ev6_unit
FROM capture_outcome AS c
LEFT JOIN graph_exec AS e ON c.fail_api = 'cuGraphExecDestroy'
  AND e.process_id = c.process_id AND e.exec_id = c.fail_object_id
LEFT JOIN graph AS g ON c.fail_api = 'cuGraphDestroy'
  AND g.process_id = c.process_id AND g.graph_id = c.fail_object_id
LEFT JOIN stream AS s ON c.fail_api = 'cuStreamDestroy'
  AND s.process_id = c.process_id AND s.stream_id = c.fail_object_id
LEFT JOIN event AS v ON c.fail_api = 'cuEventDestroy'
  AND v.process_id = c.process_id AND v.event_id = c.fail_object_id
WHERE c.fail_api IN ('cuGraphExecDestroy', 'cuGraphDestroy', 'cuStreamDestroy',
    'cuEventDestroy', 'cuModuleUnload', 'cuLibraryUnload')
  AND c.fail_result = 900 AND NOT c.abandoned
  AND (c.fail_same_thread OR c.fail_sub_kind = 'autograd')
  AND NOT COALESCE(c.fail_in_tool, FALSE)
ORDER BY c.process_id, c.capture_id;
-- test: fires for each kind of object, with its age and who destroyed it
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, range_path, state, fail_api,
  fail_runtime_api, fail_result, fail_result_name, fail_same_thread, fail_object_id, fail_start_ns, fail_destroyed_by)
VALUES (1, 1, 1, 7, 'step/cycle', 'ended_error', 'cuGraphExecDestroy', 'cudaGraphExecDestroy', 900, 'E900', 1, 31, 900, 'gc'),
  (1, 2, 2, 7, NULL, 'ended_error', 'cuGraphDestroy', 'cudaGraphDestroy', 900, 'E900', 1, 32, 900, 'refcount'),
  (1, 3, 3, 7, NULL, 'ended_error', 'cuStreamDestroy', NULL, 900, 'E900', 1, 33, 900, 'code'),
  (1, 4, 4, 7, NULL, 'ended_error', 'cuEventDestroy', NULL, 900, 'E900', 1, 34, 900, NULL),
  (1, 5, 5, 7, NULL, 'ended_error', 'cuModuleUnload', NULL, 900, 'E900', 1, NULL, 900, NULL),
  (1, 6, 6, 7, NULL, 'ended_error', 'cuLibraryUnload', NULL, 900, 'E900', 0, 36, 900, NULL);
UPDATE capture_outcome SET fail_sub_kind = 'autograd' WHERE capture_id = 6;
INSERT INTO graph_exec (process_id, exec_id, created_ns) VALUES (1, 31, 100), (1, 32, 1), (1, 33, 1), (1, 34, 1);
INSERT INTO graph (process_id, graph_id, created_ns) VALUES (1, 32, 200), (1, 31, 2), (1, 33, 2), (1, 34, 2);
INSERT INTO stream (process_id, stream_id, created_ns) VALUES (1, 33, 300), (1, 31, 3), (1, 32, 3), (1, 34, 3);
INSERT INTO event (process_id, event_id, created_ns) VALUES (1, 34, 400), (1, 31, 4), (1, 32, 4), (1, 33, 4);
-- expect: cuGraphExecDestroy [cudaGraphExecDestroy] of executable 31 inside the capture "step/cycle" failed with E900: a garbage collector ran | root_id=1 ev6_value=800
-- expect: cuGraphDestroy [cudaGraphDestroy] of graph 32 inside the capture of stream 7 failed with E900: its last reference went | ev6_value=700
-- expect: cuStreamDestroy of stream 33 inside the capture of stream 7 failed with E900 | ev6_value=600
-- expect: cuEventDestroy of event 34 inside the capture of stream 7 failed with E900 | ev6_value=500
-- expect: cuModuleUnload of module unknown inside the capture of stream 7 failed with E900 | ev6_value=null
-- expect: cuLibraryUnload of module 36 inside the capture of stream 7 failed with E900 | ev6_value=null
-- test: quiet for other calls and codes, on another thread, in a capture that was left open, and for tools
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api, fail_result,
  fail_same_thread, fail_sub_kind, abandoned, fail_in_tool)
VALUES (1, 1, 1, 7, 'ended_error', 'cuMemFree', 900, 1, NULL, 0, 0),
  (1, 2, 2, 7, 'ended_error', 'cuGraphExecDestroy', 901, 1, NULL, 0, 0),
  (1, 3, 3, 7, 'ended_error', 'cuGraphExecDestroy', 899, 1, NULL, 0, 0),
  (1, 4, 4, 7, 'ended_error', 'cuGraphExecDestroy', 900, 0, 'user_worker', 0, 0),
  (1, 5, 5, 7, 'ended_error', 'cuGraphExecDestroy', 900, 1, NULL, 1, 0),
  (1, 6, 6, 7, 'ended_error', 'cuGraphExecDestroy', 900, 1, NULL, 0, 1);
-- expect: none
-- test: quiet when a relaxed capture allowed it
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, state, mode)
VALUES (1, 1, 1, 'ended_ok', 'relaxed');
-- expect: none
