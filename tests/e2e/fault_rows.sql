-- SPDX-License-Identifier: Apache-2.0
-- What the trace of each fault of the trainer must hold, and that of its clean
-- twin must not: the query counts it. Before a query:
--   fault    its id
--   places   two of them, put behind the id
--   options  of the trainer, also for the clean twin
--   ends     what the job ends with; 0 where nothing is said

-- fault: item-in-capture
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome WHERE fail_class = 'SYNC' AND fail_result = 900;

-- fault: no-fallback
-- places: @step=4 | @layer=1
-- ends: 1
SELECT COUNT(*) FROM capture_outcome AS c WHERE c.fail_result = 900 AND c.state = 'not_ended'
  AND NOT EXISTS (SELECT * FROM replay AS r WHERE r.launch_start_ns > c.start_ns);

-- fault: no-warmup-optimizer
-- places: @step=4 | @rank=0
SELECT COUNT(*) FROM capture_outcome WHERE fail_class = 'ALLOC' AND fail_result = 900;

-- fault: no-warmup-buffers
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome WHERE fail_class = 'ALLOC' AND fail_result = 900;

-- fault: nonflash-attention
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome WHERE fail_class IN ('ALLOC', 'FREE') AND fail_result = 900;

-- fault: zero3-offload
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome WHERE fail_class = 'ALLOC' AND fail_result = 900;

-- fault: h2d-pending
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome
WHERE fail_class = 'COPY_SYNC' AND fail_result IN (900, 906);

-- fault: capture-default-stream
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome WHERE fail_result = 906 AND fail_legacy_stream;

-- fault: capture-on-all-ranks
-- places: @step=4 | @step=6
SELECT COUNT(*) FROM capture_fail JOIN api USING (api_id)
WHERE name = 'cuStreamEndCapture' AND result = 908 AND NOT same_thread;

-- fault: gc-destroy-in-capture
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_fail JOIN api USING (api_id) WHERE name = 'cuGraphExecDestroy' AND result = 900;

-- fault: unjoined-fork
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome WHERE end_result = 904 AND stray_stream_id IS NOT NULL;

-- fault: abandoned-capture
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome WHERE state = 'not_ended';

-- fault: pp-event-outside-capture
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM capture_outcome WHERE fail_result = 905;

-- fault: tp-allreduce-unjoined
-- places: @step=4 | @step=6
-- options: --dp 2
SELECT COUNT(*) FROM capture_leak WHERE kind = 'comm' AND in_warmup AND replays_after > 3;

-- fault: lr-frozen
-- places: | @step=5
SELECT COUNT(*) FROM frozen_scalar WHERE node_name LIKE '%set_scalar%' AND has_trend AND replays > 3;

-- fault: host-beta-step
-- places: | @step=5
SELECT COUNT(*) FROM frozen_scalar WHERE node_name LIKE '%set_scalar%' AND has_trend AND replays > 3;

-- fault: clip-frozen
-- places: | @step=5
SELECT COUNT(*) FROM frozen_scalar WHERE node_name LIKE '%clip_coefficient%' AND has_trend AND replays > 3;

-- fault: eps-by-phase
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM frozen_scalar WHERE node_name LIKE '%norm_forward%' AND has_trend AND replays > 3;

-- fault: dropout-frozen
-- places: @step=4 | @layer=1
-- options: --dropout 0.1
SELECT COUNT(*) FROM frozen_scalar WHERE node_name LIKE '%dropout%' AND has_trend AND replays > 3;

-- fault: fp8-scale-host
-- places: | @layer=1
-- options: --dtype fp8
SELECT COUNT(*) FROM frozen_scalar WHERE node_name LIKE '%set_fp8_scale%' AND is_monotone
  AND distinct_values > 2 AND replays > 3;

-- fault: host-control-flow
-- places: | @step=4
SELECT COUNT(*) FROM (SELECT l.process_id, s.param
  FROM eager_launch AS l JOIN launch_scalar AS s USING (process_id, scalar_set_id)
  JOIN kernel_shape USING (shape_id) JOIN string ON string_id = name_id
  WHERE text LIKE 'attention_forward%'
  GROUP BY l.process_id, s.param HAVING COUNT(DISTINCT s.value) > 2) AS eager
WHERE 1 = (SELECT COUNT(DISTINCT s.value)
  FROM graph_node AS n JOIN node_scalar AS s USING (process_id, node_id)
  WHERE n.process_id = eager.process_id AND s.param = eager.param
    AND n.name LIKE 'attention_forward%');

-- fault: tp-dynamic-shape
-- places: | @step=6
-- options: --tp 2
SELECT COUNT(*) FROM (SELECT process_id, comm_hash FROM nccl_op WHERE kind = 'all_reduce'
  GROUP BY process_id, comm_hash
  HAVING COUNT(DISTINCT CASE WHEN capture_id IS NULL THEN count END)
    > COUNT(DISTINCT CASE WHEN capture_id IS NOT NULL THEN count END)
    AND COUNT(capture_id));

-- fault: attention-dynamic-dispatch
-- places: | @step=4
SELECT COUNT(*) FROM exec_update WHERE result = 910;

-- fault: replay-before-zero-grad
-- places: | @step=7
SELECT COUNT(*) FROM (SELECT r.exec_id FROM replay AS r JOIN step AS s ON s.process_id = r.process_id
    AND r.launch_start_ns >= s.start_ns AND r.launch_start_ns < s.end_ns
  GROUP BY r.process_id, r.exec_id, s.step HAVING COUNT(*) > 1);

-- fault: capture-order
-- places: | @step=8
-- options: --graph-scope microbatch --graph-key microbatch
SELECT COUNT(*) FROM (SELECT e.created_ns, LAG(e.created_ns) OVER (
    PARTITION BY r.process_id, s.step ORDER BY r.launch_start_ns) AS before
  FROM replay AS r JOIN graph_exec AS e USING (process_id, exec_id)
  JOIN step AS s ON s.process_id = r.process_id
    AND r.launch_start_ns >= s.start_ns AND r.launch_start_ns < s.end_ns)
WHERE before > created_ns;

-- fault: shared-graph-exec
-- places: |
-- options: --pp 2 --graph-scope microbatch
SELECT COUNT(*) FROM (SELECT r.exec_id, LAG(r.exec_id) OVER (PARTITION BY r.process_id ORDER BY r.launch_start_ns) AS before
  FROM replay AS r) WHERE exec_id = before;

-- fault: record-stream
-- places: @step=4 | @layer=1
SELECT COUNT(*) FROM stale_pointer WHERE known AND replays > 0 AND owner_allocation_id IS NOT NULL;

-- fault: recompute-free
-- places: @step=4 | @layer=1
-- options: --graph-scope microbatch
SELECT COUNT(*) FROM stale_pointer AS p JOIN step AS s ON s.process_id = p.process_id
  AND p.free_ns > s.start_ns AND p.free_ns < s.end_ns
WHERE p.known AND p.replays > 0
  AND EXISTS (SELECT * FROM replay AS r WHERE r.process_id = p.process_id
    AND r.launch_start_ns > s.start_ns AND r.launch_start_ns < p.free_ns)
  AND EXISTS (SELECT * FROM replay AS r WHERE r.process_id = p.process_id
    AND r.launch_start_ns > p.free_ns AND r.launch_start_ns < s.end_ns);

-- fault: activation-realloc
-- places: | @layer=1
SELECT COUNT(*) FROM memory_step WHERE steady AND previous_peak_bytes IS NOT NULL
  AND ABS(peak_bytes - previous_peak_bytes) > 0.15 * peak_bytes;

-- fault: graph-leak
-- places: | @layer=1
SELECT COUNT(*) FROM recapture
WHERE live_execs >= 5 AND device_bytes > 10000000;

-- fault: sync-in-graph-region
-- places: | @layer=1
SELECT COUNT(*) FROM (SELECT a.process_id FROM api_call AS a JOIN api USING (api_id)
  WHERE name = 'cuCtxSynchronize' GROUP BY a.process_id HAVING COUNT(*) > 10);

-- fault: replay-jitter
-- places: | @step=3
-- A delay lasts twelve steps, three launches in ten have one: in units of the
-- time for a step, because a busy machine stretches all.
SELECT COUNT(*) FROM (SELECT g.process_id FROM replay_gap AS g JOIN steady_state AS s USING (process_id)
  WHERE g.steady AND g.host_other_ns > 3 * (s.end_ns - s.start_ns) / (SELECT COUNT(*) FROM step AS n
    WHERE n.process_id = g.process_id AND n.kind = 'steady')
  GROUP BY g.process_id HAVING COUNT(*) > 1);

-- fault: slow-dataloader
-- places: | @step=3
-- In most steps, not in a few that a busy machine held up.
SELECT COUNT(*) FROM (SELECT g.process_id FROM replay_gap AS g JOIN steady_state AS s USING (process_id)
  WHERE g.steady AND NOT g.same_step
    AND g.data_ns > 0.1 * (s.end_ns - s.start_ns) / (SELECT COUNT(*) FROM step AS n
      WHERE n.process_id = g.process_id AND n.kind = 'steady')
  GROUP BY g.process_id, g.exec_id HAVING COUNT(*) > 12);

-- fault: graph-cache-overflow
-- places: | :6
-- options: --max-graphs 3
SELECT COUNT(*) FROM fallback WHERE eager_runs > 3 AND graph_runs > 3;

-- fault: pp-single-microbatch-capture
-- places: | @rank=1
-- options: --pp 2
SELECT COUNT(*) FROM (SELECT a.process_id FROM api_call AS a JOIN api USING (api_id)
  WHERE name = 'cuStreamSynchronize' GROUP BY a.process_id HAVING COUNT(*) > 24);

-- fault: rank-divergent-capture
-- places: | @rank=0
-- options: --dp 2
-- ends: 1
SELECT COUNT(*) FROM rank_divergence WHERE known AND what <> 'none';

-- fault: tp-allreduce-stripped
-- places: |
-- options: --tp 2
SELECT COUNT(*) FROM nccl_step WHERE steady AND graph_bytes < 0.8 * (graph_bytes + eager_bytes)
  AND eager_kind = 'between_graphs';

-- fault: ring-parity-missing
-- places: |
-- options: --cp 2
SELECT COUNT(*) FROM graph_node AS s JOIN graph_node AS r
  ON r.process_id = s.process_id AND r.comm_op_id = s.comm_op_id + 1
WHERE s.type = 'comm' AND s.name = 'Send' AND r.name = 'Recv'
  AND s.src = r.dst;

-- fault: ring-whole-dynamic
-- places: | @step=1
-- options: --cp 4
SELECT COUNT(*) FROM (SELECT process_id, comm_hash
  FROM nccl_op WHERE kind = 'send' GROUP BY process_id, comm_hash
  HAVING COUNT(DISTINCT CASE WHEN capture_id IS NULL THEN peer END) > 1
    AND COUNT(DISTINCT CASE WHEN capture_id IS NOT NULL THEN peer END) = 1);

-- fault: dp-cross-node
-- places: | :0.005 | :0.0025
-- options: --dp 2 --comm model
SELECT COUNT(*) FROM (SELECT node_id FROM (SELECT k.node_id, k.dur_ns, LEAD(k.start_ns) OVER (
      PARTITION BY k.node_id ORDER BY k.start_ns) - k.start_ns AS period_ns
    FROM kernel AS k JOIN kernel_shape USING (shape_id) JOIN string ON string_id = name_id
    WHERE k.node_id IS NOT NULL AND text LIKE '%AllReduce')
  WHERE period_ns IS NOT NULL
  GROUP BY node_id HAVING MIN(dur_ns) > 1500000 AND MIN(dur_ns) > 0.05 * MIN(period_ns));

-- fault: nccl-abort
-- places: | @step=1
-- options: --dp 2
-- ends: 1
SELECT COUNT(*) FROM api_call AS a JOIN api USING (api_id) WHERE name LIKE '%Abort%';

-- fault: pp-unfused-p2p
-- (The stuck one takes two looks of 20 ms; what comes after it fails at once.)
-- places: |
-- options: --pp 2
-- ends: 1
SELECT COUNT(*) FROM (SELECT t.process_id, n.text AS name, ROW_NUMBER() OVER (
    PARTITION BY t.process_id ORDER BY k.start_ns DESC) AS nth
  FROM kernel AS k JOIN track AS t USING (track_id)
  JOIN kernel_shape USING (shape_id) JOIN string AS n ON string_id = name_id
  WHERE n.text IN ('Send', 'Recv', 'AllReduce') AND k.dur_ns > 15000000) AS latest
WHERE nth = 1 AND name = 'Send' AND EXISTS (SELECT * FROM api_call AS a
  WHERE a.process_id = latest.process_id AND a.result = 719);

-- fault: ring-send-recv-order
-- places: |
-- options: --cp 2
-- ends: 1
SELECT COUNT(*) FROM (SELECT t.process_id, n.text AS name, ROW_NUMBER() OVER (
    PARTITION BY t.process_id ORDER BY k.start_ns DESC) AS nth
  FROM kernel AS k JOIN track AS t USING (track_id)
  JOIN kernel_shape USING (shape_id) JOIN string AS n ON string_id = name_id
  WHERE n.text IN ('Send', 'Recv', 'AllReduce') AND k.dur_ns > 15000000) AS latest
WHERE nth = 1 AND name = 'Send' AND EXISTS (SELECT * FROM api_call AS a
  WHERE a.process_id = latest.process_id AND a.result = 719);

-- fault: env-mismatch
-- places: | :9.1
SELECT COUNT(*) FROM nvtx_range AS m JOIN string AS t ON t.string_id = m.name_id
  JOIN process AS p ON p.process_id = m.process_id
WHERE m.kind = 'mark' AND t.text LIKE 'versions: built for CUDA %, runtime CUDA %'
  AND substr(t.text, 26, instr(t.text, ',') - 26) <> substr(t.text, instr(t.text, ', runtime') + 15)
  AND p.runtime LIKE '%CUDA ' || substr(t.text, instr(t.text, ', runtime') + 15)
  AND EXISTS (SELECT * FROM env_var AS e WHERE e.process_id = m.process_id
    AND e.name = 'CUDA_VERSION' AND t.text LIKE '%, runtime CUDA ' || e.value)
  AND EXISTS (SELECT * FROM env_var AS e WHERE e.process_id = m.process_id
    AND e.name = 'NVIDIA_DISABLE_REQUIRE' AND e.value = '1');

-- fault: pool-too-small
-- places: | :20
SELECT COUNT(*) FROM nvtx_range JOIN string ON string_id = name_id
WHERE kind = 'mark' AND text LIKE 'graph cycle%-> failed (%pool%'
  AND NOT EXISTS (SELECT * FROM capture JOIN graph_node USING (process_id)
    WHERE name LIKE 'attention%');

-- fault: pool-rank0-only
-- places: |
-- options: --dp 2
SELECT COUNT(*) FROM nvtx_range JOIN string ON string_id = name_id
JOIN process USING (process_id)
WHERE kind = 'mark' AND rank > 0
  AND text LIKE 'graph cycle%allows 0.00 MiB%';
