-- SPDX-License-Identifier: Apache-2.0
-- rule: GD508 frozen-count
-- title: Eager collectives came in several sizes, the captured one has one
-- severity: warning
-- impact: wrong
-- confidence: medium
-- root: exec
-- parent: GD206
-- needs: comm_ops>=partial, launch_callbacks>=partial, node_params>=partial, callbacks>=complete
-- param replays_min: 3
-- param sizes_min: 2
-- why: The count of a collective is stored in the graph. Before the capture the number of tokens differed from batch to
--   batch, and so did the bytes of this call; all replays send those of the capture. A shorter batch is summed together
--   with stale rows, a longer one loses its end. If ranks choose differently, the job hangs instead.
-- fix: Pad to one token count on all ranks, or capture one graph for each size (buckets) and let all ranks agree on the
--   bucket before the step. Or leave this call eager between two graphs. The last batch of an epoch is the usual odd one:
--   drop it (drop_last=True) or pad it.
-- source: NCCL user guide, using NCCL with CUDA graphs; vllm-project and Megatron-LM pad token counts for this reason
-- message: {graph}: {kind} moved {eager} bytes in eager runs, {bytes} in all {replays:count replay} of the only graph
SELECT f.process_id, f.start_ns, f.end_ns, f.step,
  COALESCE(f.comm_stack_id, f.stack_id) AS stack_id,
  f.exec_id AS root_id, f.exec_id, f.graph_name AS graph,
  f.comm_kind AS kind, f.comm_eager_text AS eager, f.comm_bytes AS bytes,
  f.replays,
  'communicator' AS ev1_label, printf('0x%x', f.comm_hash) AS ev1_value,
  'eager runs compared' AS ev2_label, f.eager_runs AS ev2_value,
  'kernels that differ, too' AS ev3_label, f.kernels AS ev3_value
FROM frozen_shape AS f
WHERE f.known AND f.comm_hash IS NOT NULL AND f.replays >= :replays_min
  AND f.sizes >= :sizes_min
  AND NOT EXISTS (SELECT * FROM fallback AS b
    WHERE b.process_id = f.process_id AND b.eager_runs)
ORDER BY f.process_id, f.exec_id;
-- test: fires at the least number of replays and sizes
INSERT INTO frozen_shape (process_id, exec_id, graph_name, eager_runs, sizes, kernels, kernel, eager_text, frozen_text,
  comm_hash, comm_kind, comm_eager_text, comm_bytes, comm_stack_id, replays, stack_id)
VALUES (1, 5, 'cycle', 3, 2, 12, 'gemm', '64, 64, 32', '64', 171, 'all_reduce', '1024, 1024, 512', 1024, 9, 3, 8),
  (1, 6, 'cycle', 3, 2, 12, 'gemm', '64, 64, 32', '64', 171, 'all_reduce', '1024, 1024, 512', 1024, NULL, 3, 8);
INSERT INTO fallback (process_id, eager_runs) VALUES (2, 4), (1, 0);
-- expect: cycle: all_reduce moved 1024, 1024, 512 bytes in eager runs, 1024 in all 3 replays of the only graph | root_id=5 stack_id=9 severity=warning
-- expect: cycle: all_reduce moved 1024, 1024, 512 bytes in eager runs, 1024 in all 3 replays of the only graph | stack_id=8
-- test: quiet with nothing to compare
INSERT INTO frozen_shape (process_id, exec_id, graph_name, eager_runs, sizes, kernels, comm_hash, replays, known)
VALUES (1, 5, 'cycle', 1, 2, 12, 171, 9, 0);
-- expect: none
-- test: quiet when only kernels differ, after two replays, with one size, and when other sizes run eagerly
INSERT INTO frozen_shape (process_id, exec_id, graph_name, eager_runs, sizes, kernels, kernel, eager_text, frozen_text,
  comm_hash, comm_kind, comm_eager_text, comm_bytes, replays)
VALUES (1, 5, 'cycle', 3, 2, 12, 'gemm', '64, 64, 32', '64', NULL, NULL, NULL, NULL, 9),
  (2, 5, 'cycle', 3, 2, 12, 'gemm', '64, 64, 32', '64', 171, 'all_reduce', '1024, 1024, 512', 1024, 2),
  (3, 5, 'cycle', 3, 1, 12, 'gemm', '64', '64', 171, 'all_reduce', '1024', 1024, 9),
  (4, 5, 'cycle', 3, 2, 12, 'gemm', '64, 64, 32', '64', 171, 'all_reduce', '1024, 1024, 512', 1024, 9);
INSERT INTO fallback (process_id, eager_runs) VALUES (4, 1);
-- expect: none
