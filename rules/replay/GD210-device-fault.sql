-- SPDX-License-Identifier: Apache-2.0
-- rule: GD210 device-fault
-- title: Device error in a process that replays graphs
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: exec
-- needs: callbacks>=partial
-- param sure_replays: 20
-- why: Work on the device ended in an illegal access, an assertion or the like, and its context with it: every later call
--   of the process returns the same error. The call that first returns it is only where the host looked next, not the
--   cause. In a replay many kernels run under one launch, so neither that call nor a kernel's launch names the one.
-- fix: Catching the error and going on eagerly cannot work: end the process and start it again. Then, cheapest first:
--   look at the suspects below and at what the capture froze for them: memory freed or resized since (GD202), indices and
--   lengths that come from data, a batch larger than the captured one, descriptors made on the host. After an assertion
--   read the job's own error output: the device prints the condition with file, line, block and thread. Run again under
--   compute-sanitizer --tool memcheck (-lineinfo in the build), which looks into graphs and names kernel, line and
--   address; or with CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 and open the core dump in cuda-gdb. CUDA_LAUNCH_BLOCKING=1 helps
--   only outside graphs: to find the replay, synchronise behind each launch of a graph; to find the kernel, run the
--   captured region once without capture, with the same input and CUDA_LAUNCH_BLOCKING=1.
-- source: CUDA runtime API, error codes that leave the process in an inconsistent state; CUDA driver API, graphs;
--   compute-sanitizer and CUDA-GDB documentation; with device times of so many replays
--   and of no kernel outside graphs the rule is sure that a replay failed (ours)
-- message: {head}{what} ({name}, {result}){whose}{lead}{suspect:kernel}{reason}; first failing call: {seen}{cascade}
WITH fault AS (
  SELECT f.*,
    f.exec_id IS NOT NULL AND f.have_times AS ended,
    f.first_process_id IS NOT NULL AND (f.exec_id IS NULL OR f.have_times
      OR f.result <> (SELECT g.result FROM device_fault AS g
        WHERE g.process_id = f.first_process_id)) AS is_cascade,
    f.exec_id IS NOT NULL AND NOT f.have_times AND NOT f.recovered AS in_replay,
    (SELECT COALESCE('rank ' || p.rank, 'process ' || p.process_id)
      FROM process AS p WHERE p.process_id = f.first_process_id) AS first_rank
  FROM device_fault AS f
)
SELECT f.process_id, f.start_ns, f.end_ns, f.step, f.thread_id,
  COALESCE(f.work_stack_id, f.stack_id) AS stack_id,
  f.exec_id AS root_id, f.exec_id, f.graph_signature, f.result,
  f.in_replay, f.result || CASE WHEN f.is_cascade THEN 'c' ELSE '' END AS merge_key,
  CASE WHEN f.is_cascade OR f.recovered OR f.exec_id IS NULL THEN 'info'
    WHEN f.in_replay THEN 'error'
    WHEN f.eager_kernels = 0 THEN 'warning'
    ELSE 'info' END AS severity,
  CASE WHEN f.exec_id IS NULL OR f.ended OR f.is_cascade THEN 'low'
    WHEN f.how = 'stale'
      OR (f.eager_kernels = 0 AND f.measured >= :sure_replays) THEN 'high'
    ELSE 'medium' END AS confidence,
  CASE WHEN f.exec_id IS NULL THEN 'No graph was in flight: '
    ELSE f.graph_name || ': ' END AS head,
  CASE f.result
    WHEN 700 THEN 'illegal memory access'
    WHEN 702 THEN 'kernel over its time limit'
    WHEN 710 THEN 'assertion failed in a kernel'
    WHEN 714 THEN 'corrupted stack of a kernel'
    WHEN 715 THEN 'illegal instruction'
    WHEN 716 THEN 'misaligned memory access'
    WHEN 717 THEN 'access in the wrong address space'
    WHEN 718 THEN 'jump to an invalid address'
    WHEN 719 THEN 'kernel ended by an exception'
    WHEN 721 THEN 'tensor memory not given back'
    ELSE 'unknown error of the device' END AS what,
  COALESCE(r.name, 'CUDA error') AS name,
  CASE WHEN f.exec_id IS NULL
      THEN printf(' beside the graphs, whose %s had all ended', counted(f.launches, 'replay'))
    WHEN f.ended
      THEN printf(' with replay %d last, which has device times as if it had ended', f.last_launch)
      || CASE WHEN f.eager_kernels = 0
        THEN ', but no kernel outside graphs is on record since the first replay'
        ELSE '; eager work behind it is more likely' END
    ELSE printf(CASE WHEN f.first_launch = f.last_launch
        THEN ' in replay %d' ELSE ' in one of the replays %d to %d' END,
        f.first_launch, f.last_launch)
      || CASE WHEN f.others IS NOT NULL THEN ', or of ' || f.others ELSE '' END
      || CASE WHEN f.eager_kernels = 0
          THEN ': no kernel outside graphs is on record since the first replay'
        WHEN f.eager_kernels IS NULL
          THEN ', or in eager work beside it, of which the device gave no record'
        ELSE ', or in an eager kernel beside it: the record cannot tell them apart'
        END
    END AS whose,
  CASE WHEN f.exec_id IS NULL THEN '; look '
    WHEN f.suspect1 IS NULL THEN '; '
    WHEN f.suspects = 1 AND f.kernels = 1 AND f.how <> 'stale' THEN '; its only kernel is '
    ELSE '; first suspect ' END AS lead,
  CASE WHEN f.exec_id IS NULL THEN 'at eager kernels'
    WHEN f.suspect1 IS NULL THEN 'none of its kernels is known'
    ELSE f.suspect1 END AS suspect,
  CASE WHEN f.exec_id IS NULL OR f.suspect1 IS NULL THEN ''
    WHEN f.how = 'stale' THEN ', which points to memory that was freed'
    WHEN f.how = 'running' THEN ', which did not end while what it waits for did'
    WHEN f.how = 'descriptor' THEN ', which gets a descriptor of 64 or 128 bytes by value'
    WHEN f.how = 'index' THEN ', which by its name goes where data say'
    WHEN f.kernels > 1 THEN printf(', but any of %d kernels may be it', f.kernels)
    ELSE '' END
    || CASE WHEN f.how <> 'any' AND f.suspects > 1
      THEN printf(' (one of %d)', f.suspects) ELSE '' END AS reason,
  f.api || COALESCE(' at ' || f.place, '') AS seen,
  CASE WHEN f.result = 710 THEN '; the text of the assertion stands in the output of the job' ELSE '' END
    || CASE WHEN f.recovered THEN '; the job reset the device and went on' ELSE '' END
    || CASE WHEN f.is_cascade
      THEN printf('; %s failed %.1f ms before, so this is probably a consequence', f.first_rank, f.after_ns / 1e6)
    ELSE '' END AS cascade,
  'device_fault' AS evidence_table,
  'error' AS ev1_label,
  COALESCE(r.name || ' (' || r.runtime_name || ')', 'CUDA error') || ', ' || f.result AS ev1_value,
  'first failing call that was recorded' AS ev2_label,
  f.api || COALESCE(' (' || a.runtime_name || ')', '') || COALESCE(' at ' || f.place, '')
    || COALESCE(' on thread ' || COALESCE(f.thread_name, f.thread_id), '') AS ev2_value,
  'last launch in flight' AS ev3_label,
  f.last_launch || ' of this graph' || COALESCE(', launched at ' || f.launch_place, '')
    || printf(', %.3f ms before that call returned', (f.end_ns - f.launch_ns) / 1e6) AS ev3_value,
  'captured at' AS ev4_label, f.capture_place AS ev4_value,
  'launches that nothing shows to have ended' AS ev5_label,
  NULLIF(f.in_flight, 0) AS ev5_value,
  'kernels outside graphs that ended since the first replay' AS ev6_label,
  CASE WHEN f.exec_id IS NOT NULL THEN COALESCE(f.eager_kernels, 'not recorded') END AS ev6_value,
  'suspects' AS ev7_label,
  f.suspect1 || COALESCE(', ' || f.suspect2, '') || COALESCE(', ' || f.suspect3, '') AS ev7_value,
  'calls that returned the error' AS ev8_label, f.failed_calls AS ev8_value,
  CASE WHEN f.first_process_id IS NULL THEN 'failed later' ELSE 'failed first' END AS ev9_label,
  CASE WHEN f.first_process_id IS NOT NULL
    THEN printf('%s, %.3f ms before', f.first_rank, f.after_ns / 1e6)
    ELSE (SELECT group_concat(COALESCE('rank ' || p.rank, 'process ' || p.process_id), ', ')
      FROM device_fault AS g JOIN process AS p USING (process_id)
      WHERE g.first_process_id = f.process_id) END AS ev9_value
FROM fault AS f
LEFT JOIN result_code AS r ON r.result = f.result
LEFT JOIN api AS a ON a.name = f.api
WHERE f.launches > 0
ORDER BY f.process_id;
-- test: fires for a replay whose only kernel reads out of bounds, seen by a wait elsewhere
INSERT INTO result_code (result, name, runtime_name)
VALUES (700, 'CUDA_ERROR_ILLEGAL_ADDRESS', 'cudaErrorIllegalAddress');
INSERT INTO api (api_id, name, runtime_name)
VALUES (51, 'cuStreamSynchronize', 'cudaStreamSynchronize');
INSERT INTO device_fault (process_id, result, api, start_ns, end_ns, thread_id, thread_name, stack_id, place,
  failed_calls, launches, measured, in_flight, execs, eager_kernels, exec_id, graph_name, first_launch, last_launch, launch_ns,
  launch_place, capture_place, how, suspects, kernels, suspect1, work_stack_id)
VALUES (1, 700, 'cuStreamSynchronize', 5000000, 9000000, 1, 'decode', 4, 'serve.cu:80 in answer', 3, 20, 20, 1, 1, 0, 5,
  'decode', 7, 7, 4000000, 'serve.cu:60 in run', 'serve.cu:40 in capture', 'any', 1, 1, 'gather_rows', 8);
-- expect: decode: illegal memory access (CUDA_ERROR_ILLEGAL_ADDRESS, 700) in replay 7: no kernel outside graphs is on record since the first replay; its only kernel is gather_rows; first failing call: cuStreamSynchronize at serve.cu:80 in answer | severity=error confidence=high root_id=5 stack_id=8 in_replay=1 merge_key='700' ev1_value='CUDA_ERROR_ILLEGAL_ADDRESS (cudaErrorIllegalAddress), 700' ev2_value='cuStreamSynchronize (cudaStreamSynchronize) at serve.cu:80 in answer on thread decode' ev3_value='7 of this graph, launched at serve.cu:60 in run, 5.000 ms before that call returned' ev4_value='serve.cu:40 in capture' ev5_value=1 ev6_value=0 ev7_value='gather_rows' ev8_value=3 ev9_value=null
-- test: not sure with fewer launches, with kernels outside graphs, or where those were not recorded; several graphs
INSERT INTO device_fault (process_id, result, api, launches, measured, in_flight, execs, eager_kernels, exec_id, graph_name,
  first_launch, last_launch, others, how, suspects, kernels, suspect1, suspect2, suspect3, stack_id)
VALUES (1, 716, 'cuEventQuery', 19, 19, 1, 1, 0, 5, 'step', 9, 9, NULL, 'any', 12, 12, 'gemm', 'relu', 'add', 4),
  (2, 717, 'cuEventQuery', 20, 20, 3, 1, 8, 5, 'step', 9, 11, NULL, 'index', 2, 12, 'gather', 'scatter', NULL, 4),
  (3, 718, 'cuEventQuery', 20, 20, 3, 2, NULL, 5, 'fwd', 9, 9, 'bwd (2 launches)', 'descriptor', 1, 12, 'gemm', NULL, NULL, 4),
  (4, 719, 'cuEventQuery', 20, 20, 1, 1, 8, 5, 'step', 9, 9, NULL, 'running', 1, 12, 'gemm', NULL, NULL, 4),
  (5, 721, 'cuEventQuery', 20, 20, 1, 1, 8, 5, 'step', 9, 9, NULL, 'stale', 1, 1, 'gemm', NULL, NULL, 4),
  (6, 999, 'cuEventQuery', 20, 20, 1, 1, 8, 5, 'step', 9, 9, NULL, 'any', 0, 0, NULL, NULL, NULL, 4);
-- expect: step: misaligned memory access (CUDA error, 716) in replay 9: no kernel outside graphs is on record since the first replay; first suspect gemm, but any of 12 kernels may be it; first failing call: cuEventQuery | confidence=medium severity=error ev1_value='CUDA error, 716' ev7_value='gemm, relu, add' stack_id=4
-- expect: step: access in the wrong address space (CUDA error, 717) in one of the replays 9 to 11, or in an eager kernel beside it: the record cannot tell them apart; first suspect gather, which by its name goes where data say (one of 2); first failing call: cuEventQuery | confidence=medium ev7_value='gather, scatter' ev6_value=8
-- expect: fwd: jump to an invalid address (CUDA error, 718) in replay 9, or of bwd (2 launches), or in eager work beside it, of which the device gave no record; first suspect gemm, which gets a descriptor of 64 or 128 bytes by value; first failing call: cuEventQuery | confidence=medium ev6_value='not recorded'
-- expect: step: kernel ended by an exception (CUDA error, 719) in replay 9, or in an eager kernel beside it: the record cannot tell them apart; first suspect gemm, which did not end while what it waits for did; first failing call: cuEventQuery | confidence=medium
-- expect: step: tensor memory not given back (CUDA error, 721) in replay 9, or in an eager kernel beside it: the record cannot tell them apart; first suspect gemm, which points to memory that was freed; first failing call: cuEventQuery | confidence=high
-- expect: step: unknown error of the device (CUDA error, 999) in replay 9, or in an eager kernel beside it: the record cannot tell them apart; none of its kernels is known; first failing call: cuEventQuery | confidence=medium ev7_value=null
-- test: an assertion says where its text is; other errors
INSERT INTO device_fault (process_id, result, api, launches, measured, in_flight, execs, eager_kernels, exec_id, graph_name,
  first_launch, last_launch, how, suspects, kernels, suspect1)
VALUES (1, 710, 'cuStreamSynchronize', 20, 20, 1, 1, 0, 5, 'step', 9, 9, 'index', 1, 2, 'gather'),
  (2, 702, 'cuStreamSynchronize', 20, 20, 1, 1, 0, 5, 'step', 9, 9, 'any', 1, 1, 'spin'),
  (3, 714, 'cuStreamSynchronize', 20, 20, 1, 1, 0, 5, 'step', 9, 9, 'any', 1, 1, 'spin'),
  (4, 715, 'cuStreamSynchronize', 1, 1, 1, 1, 0, 5, 'step', 1, 1, 'any', 2, 2, 'spin');
-- expect: step: assertion failed in a kernel (CUDA error, 710) in replay 9: no kernel outside graphs is on record since the first replay; first suspect gather, which by its name goes where data say; first failing call: cuStreamSynchronize; the text of the assertion stands in the output of the job | confidence=high
-- expect: step: kernel over its time limit (CUDA error, 702) in replay 9: no kernel outside graphs is on record since the first replay; its only kernel is spin; first failing call: cuStreamSynchronize
-- expect: step: corrupted stack of a kernel (CUDA error, 714) in replay 9: no kernel outside graphs is on record since the first replay; its only kernel is spin; first failing call: cuStreamSynchronize
-- expect: step: illegal instruction (CUDA error, 715) in replay 1: no kernel outside graphs is on record since the first replay; first suspect spin, but any of 2 kernels may be it; first failing call: cuStreamSynchronize | confidence=medium
-- test: ranks that fail with the same error later have it themselves; another error is a consequence
INSERT INTO process (process_id, rank) VALUES (1, 0), (2, 1), (3, NULL);
INSERT INTO device_fault (process_id, result, api, launches, measured, in_flight, execs, eager_kernels, exec_id, graph_name,
  first_launch, last_launch, how, suspects, kernels, suspect1, first_process_id, after_ns)
VALUES (1, 700, 'cuEventQuery', 20, 20, 1, 1, 0, 5, 'step', 9, 9, 'any', 1, 1, 'gather', NULL, NULL),
  (2, 700, 'cuEventQuery', 20, 20, 1, 1, 0, 5, 'step', 9, 9, 'any', 1, 1, 'gather', 1, 1500000),
  (3, 719, 'cuEventQuery', 20, 20, 1, 1, 0, 5, 'step', 9, 9, 'any', 1, 1, 'gather', 1, 2500000);
-- expect: step: illegal memory access (CUDA error, 700) in replay 9: no kernel outside graphs is on record since the first replay; its only kernel is gather; first failing call: cuEventQuery | severity=error ev9_label='failed later' ev9_value='rank 1, process 3'
-- expect: step: illegal memory access (CUDA error, 700) in replay 9: no kernel outside graphs is on record since the first replay; its only kernel is gather; first failing call: cuEventQuery | severity=error confidence=high ev9_label='failed first' ev9_value='rank 0, 1.500 ms before'
-- expect: step: kernel ended by an exception (CUDA error, 719) in replay 9: no kernel outside graphs is on record since the first replay; its only kernel is gather; first failing call: cuEventQuery; rank 0 failed 2.5 ms before, so this is probably a consequence | severity=info confidence=low merge_key='719c'
-- test: only mentioned: all replays had ended, perhaps had ended, or the job went on after a reset
INSERT INTO process (process_id, rank) VALUES (1, 0), (4, 3), (5, 4);
INSERT INTO device_fault (process_id, result, api, place, launches, measured, in_flight, execs, have_times, eager_kernels, exec_id,
  graph_name, first_launch, last_launch, how, suspects, kernels, suspect1, recovered, first_process_id, after_ns)
VALUES (1, 700, 'cuCtxSynchronize', 'a.cu:9 in f', 20, 20, 0, 0, 0, 8, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL),
  (2, 700, 'cuCtxSynchronize', NULL, 20, 20, 1, 1, 1, 8, 5, 'step', 8, 9, 'any', 1, 1, 'gather', 0, NULL, NULL),
  (3, 700, 'cuCtxSynchronize', NULL, 20, 20, 1, 1, 0, 0, 5, 'step', 9, 9, 'any', 1, 1, 'gather', 1, NULL, NULL),
  (4, 700, 'cuCtxSynchronize', NULL, 20, 20, 0, 0, 0, 8, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1, 3000000),
  (5, 700, 'cuCtxSynchronize', NULL, 20, 20, 1, 1, 1, 8, 5, 'step', 9, 9, 'any', 1, 1, 'gather', 0, 1, 3000000);
-- expect: No graph was in flight: illegal memory access (CUDA error, 700) beside the graphs, whose 20 replays had all ended; look at eager kernels; first failing call: cuCtxSynchronize at a.cu:9 in f | severity=info confidence=low root_id=null in_replay=0 ev3_value=null ev5_value=null ev6_value=null
-- expect: step: illegal memory access (CUDA error, 700) with replay 9 last, which has device times as if it had ended; eager work behind it is more likely; its only kernel is gather; first failing call: cuCtxSynchronize | severity=info confidence=low in_replay=0
-- expect: step: illegal memory access (CUDA error, 700) in replay 9: no kernel outside graphs is on record since the first replay; its only kernel is gather; first failing call: cuCtxSynchronize; the job reset the device and went on | severity=info confidence=high in_replay=0
-- expect: No graph was in flight: illegal memory access (CUDA error, 700) beside the graphs, whose 20 replays had all ended; look at eager kernels; first failing call: cuCtxSynchronize; rank 0 failed 3.0 ms before, so this is probably a consequence | severity=info
-- expect: step: illegal memory access (CUDA error, 700) with replay 9 last, which has device times as if it had ended; eager work behind it is more likely; its only kernel is gather; first failing call: cuCtxSynchronize; rank 0 failed 3.0 ms before, so this is probably a consequence | severity=info
-- test: a warning where the replay has times, but nothing else could have failed
INSERT INTO process (process_id, rank) VALUES (1, 0);
INSERT INTO device_fault (process_id, result, api, launches, measured, in_flight, execs, have_times, eager_kernels, exec_id,
  graph_name, first_launch, last_launch, how, suspects, kernels, suspect1, recovered, first_process_id, after_ns)
VALUES (1, 700, 'cuCtxSynchronize', 20, 20, 1, 1, 1, 0, 5, 'step', 9, 9, 'any', 1, 1, 'gather', 0, NULL, NULL),
  (2, 700, 'cuCtxSynchronize', 20, 20, 1, 1, 1, 0, 5, 'step', 9, 9, 'any', 1, 1, 'gather', 1, NULL, NULL),
  (3, 700, 'cuCtxSynchronize', 20, 20, 1, 1, 1, NULL, 5, 'step', 9, 9, 'any', 1, 1, 'gather', 0, NULL, NULL);
-- expect: step: illegal memory access (CUDA error, 700) with replay 9 last, which has device times as if it had ended, but no kernel outside graphs is on record since the first replay; its only kernel is gather; first failing call: cuCtxSynchronize | severity=warning confidence=low in_replay=0
-- expect: step: illegal memory access (CUDA error, 700) with replay 9 last, which has device times as if it had ended, but no kernel outside graphs is on record since the first replay; its only kernel is gather; first failing call: cuCtxSynchronize; the job reset the device and went on | severity=info confidence=low
-- expect: step: illegal memory access (CUDA error, 700) with replay 9 last, which has device times as if it had ended; eager work behind it is more likely; its only kernel is gather; first failing call: cuCtxSynchronize | severity=info confidence=low
-- test: quiet in a process that never launched a graph
INSERT INTO device_fault (process_id, result, api, launches) VALUES (1, 700, 'cuCtxSynchronize', 0);
-- expect: none
