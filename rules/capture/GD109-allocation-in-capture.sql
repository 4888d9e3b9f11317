-- SPDX-License-Identifier: Apache-2.0
-- rule: GD109 allocation-in-capture
-- title: Memory allocated or released inside a capture
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: capture
-- needs: callbacks>=partial
-- why: Calls that allocate, free, map or register memory act at once and cannot become nodes. A global or
--   thread-local capture refuses them with 900 and is invalid from then on. Usual sources: optimizer state created
--   at the first step, workspaces and buffers that grow on first use, a cache that was not warm for these shapes.
-- fix: Run the same code with the same shapes on the capture stream before capturing, the optimizer's step
--   included (capturable=True; 3 iterations, 11 with DDP). Allocate up front, or from a graph pool
--   (torch.cuda.graph(g, pool=...), torch.cuda.graph_pool_handle()) or stream-ordered (cudaMallocAsync becomes a
--   node). After an out-of-memory inside a capture the allocator frees its cache, which is refused: give it headroom
--   or capture earlier.
-- source: CUDA programming guide, prohibited and unhandled operations; PyTorch documentation, CUDA graphs;
--   pytorch/pytorch issues 187795 and 146924; matrix of refused calls tried on an H200
-- message: {call}{size} inside the capture {region} failed with {result}{note}
SELECT c.process_id, c.fail_start_ns AS start_ns, c.fail_end_ns AS end_ns,
  c.step,
  c.fail_thread_id AS thread_id, c.fail_stack_id AS stack_id,
  c.root_capture_id AS root_id, c.capture_id,
  c.fail_api || COALESCE(' [' || c.fail_runtime_api || ']', '') AS call,
  COALESCE(c.fail_result_name, c.fail_result) AS result,
  COALESCE('"' || c.range_path || '"', 'of stream ' || c.stream_id) AS region,
  'capture' AS evidence_table, c.capture_id AS evidence_id,
  COALESCE(' of ' || counted(c.fail_bytes, 'byte'), '') AS size,
  CASE WHEN c.oom_before THEN ': memory had run out just before'
      WHEN c.warm_same_site THEN ': the same place had allocated before, but not for this'
      ELSE '' END AS note,
  c.fail_bytes AS cost_bytes,
  'capture mode' AS ev1_label, c.mode AS ev1_value,
  'last captured before it' AS ev2_label, c.last_node AS ev2_value,
  'end of the capture' AS ev3_label, c.end_result_name AS ev3_value,
  'failures that follow in the capture' AS ev4_label,
  c.later_failures AS ev4_value
FROM capture_outcome AS c
WHERE c.fail_class IN ('ALLOC', 'FREE', 'POOL', 'VMM', 'IPC')
  AND c.fail_result = 900 AND NOT c.abandoned
  AND (c.fail_same_thread OR c.fail_sub_kind = 'autograd')
  AND NOT COALESCE(c.fail_in_tool, FALSE)
ORDER BY c.process_id, c.capture_id;
-- test: fires for each kind of call
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_bytes)
VALUES (1, 1, 1, 7, 'ended_error', 'cuMemAlloc', 'cudaMalloc', 'ALLOC', 900, 'E900', 1, 4096),
  (1, 2, 2, 7, 'ended_error', 'cuMemFree', 'cudaFree', 'FREE', 900, 'E900', 1, NULL),
  (1, 3, 3, 7, 'ended_error', 'cuMemPoolTrimTo', 'cudaMemPoolTrimTo', 'POOL', 900, 'E900', 1, NULL),
  (1, 4, 4, 7, 'ended_error', 'cuMemMap', NULL, 'VMM', 900, 'E900', 1, NULL),
  (1, 5, 5, 7, 'ended_error', 'cuIpcOpenMemHandle', 'cudaIpcOpenMemHandle', 'IPC', 900, 'E900', 1, NULL);
-- expect: cuMemAlloc [cudaMalloc] of 4096 bytes inside the capture of stream 7 failed with E900 | root_id=1 cost_bytes=4096
-- expect: cuMemFree [cudaFree] inside the capture of stream 7 failed with E900
-- expect: cuMemPoolTrimTo [cudaMemPoolTrimTo] inside the capture of stream 7 failed with E900
-- expect: cuMemMap inside the capture of stream 7 failed with E900
-- expect: cuIpcOpenMemHandle [cudaIpcOpenMemHandle] inside the capture of stream 7 failed with E900
-- test: fires on the autograd thread, tells out-of-memory and warm places
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_sub_kind, oom_before, warm_same_site)
VALUES (1, 1, 1, 7, 'ended_error', 'cuMemFree', 'cudaFree', 'FREE', 900, 'E900', 0, 'autograd', 1, 1),
  (1, 2, 2, 7, 'ended_error', 'cuMemAlloc', 'cudaMalloc', 'ALLOC', 900, 'E900', 1, NULL, 0, 1);
-- expect: cuMemFree [cudaFree] inside the capture of stream 7 failed with E900: memory had run out just before
-- expect: cuMemAlloc [cudaMalloc] inside the capture of stream 7 failed with E900: the same place had allocated before, but not for this
-- test: quiet for other codes, calls and threads
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, fail_sub_kind)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'ALLOC', 2, 'E900', 1, NULL),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'ALLOC', 901, 'E900', 1, NULL),
  (1, 3, 3, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'SYNC', 900, 'E900', 1, NULL),
  (1, 4, 4, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'ALLOC', 900, 'E900', 0, 'pin_memory'),
  (1, 5, 5, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'ALLOC', 899, 'E900', 1, NULL);
-- expect: none
-- test: quiet in a capture that had been left open, and for tools
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, stream_id, state, fail_api,
  fail_runtime_api, fail_class, fail_result, fail_result_name,
  fail_same_thread, abandoned, fail_in_tool)
VALUES (1, 1, 1, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'ALLOC', 900, 'E900', 1, 1, 0),
  (1, 2, 2, 7, 'ended_error', 'cuStreamSynchronize', 'cudaStreamSynchronize', 'ALLOC', 900, 'E900', 1, 0, 1);
-- expect: none
-- test: quiet when a relaxed capture allowed the allocation
INSERT INTO capture_outcome (process_id, capture_id, root_capture_id, state, mode)
VALUES (1, 1, 1, 'ended_ok', 'relaxed');
-- expect: none
