-- SPDX-License-Identifier: Apache-2.0
-- rule: GD514 network-bound
-- title: Network between the nodes sets the pace, graphs will not help
-- severity: info
-- impact: slow
-- confidence: medium
-- root: none
-- needs: comm_ops>=partial, eager_kernel_activity>=partial
-- param comm_share: 0.28
-- param idle_share: 0.20
-- param steps_min: 5
-- why: A captured collective is launched for less, not carried out faster. When the ranks of a communicator lie on several
--   nodes and the communication takes a large part of even the fastest step of the rank that waits least, the time goes
--   into the network: fewer launches change nothing.
-- fix: Overlap the collective with the backward pass (Megatron --overlap-grad-reduce, PyTorch DDP buckets) and keep the
--   captured region as it is. Move fewer bytes: reduce in bf16, a larger micro-batch or more accumulation steps per
--   reduction, sharded optimizer states. Place the ranks that reduce most on one node. Check the fabric: NCCL_DEBUG=INFO
--   names the transport, NCCL_IB_HCA and GPUDirect decide whether it is the fast one.
-- source: Bus bandwidth as in nccl-tests; the shares are this project's defaults
-- message: communicator of {nranks:count rank} on {nodes}: at least {share:.0%} of a step is communication ({least:ns} of {step_ns:ns}), {bytes:bytes} a step at {speed}
SELECT c.process_id, c.start_ns, c.end_ns, c.thread_id, c.stack_id,
  c.least_comm_ns * c.steps AS cost_ns, c.nranks,
  1.0 * c.least_comm_ns / c.step_ns AS share, c.least_comm_ns AS least,
  c.step_ns, c.bytes, printf('%x', c.comm_hash) AS merge_key,
  CASE WHEN c.hosts > 1 THEN c.hosts || ' hosts'
    WHEN c.is_modelled THEN 'modelled nodes'
    ELSE 'hosts with ' || counted(c.local_ranks, 'rank') || ' each' END AS nodes,
  CASE WHEN c.wire_bytes_per_s IS NULL THEN 'unknown speed'
    ELSE printf('%.1f MB/s', c.wire_bytes_per_s / 1e6) END AS speed,
  'communicator' AS ev1_label, printf('0x%x', c.comm_hash) AS ev1_value,
  'communication of the median step' AS ev2_label, c.comm_ns AS ev2_value, 'ns' AS ev2_unit,
  'idle time of the median step' AS ev3_label, c.idle_ns AS ev3_value, 'ns' AS ev3_unit,
  'bytes that move inside graphs' AS ev4_label, c.graph_bytes AS ev4_value, 'bytes' AS ev4_unit,
  'steps' AS ev5_label, c.steps AS ev5_value
FROM comm_cost AS c
WHERE c.known AND c.steps >= :steps_min
  AND (c.hosts > 1 OR c.is_modelled OR c.local_ranks < c.nranks)
  AND c.least_comm_ns > :comm_share * c.step_ns
  AND c.idle_ns < :idle_share * c.step_ns
ORDER BY c.process_id, c.device_id;
-- test: fires just above the share and just below the idle time, for hosts, a model and the launcher's number
INSERT INTO comm_cost (process_id, comm_hash, nranks, hosts, local_ranks, is_modelled, steps, step_ns, comm_ns,
  least_comm_ns, idle_ns, bytes, graph_bytes, wire_bytes_per_s, stack_id)
VALUES (1, 171, 16, 2, NULL, 0, 5, 1000, 400, 285, 195, 1048576, 1048576, 12500000000, 8),
  (2, 171, 2, 1, NULL, 1, 5, 1000, 400, 285, 195, 1048576, 1048576, 99999999, 8),
  (3, 171, 16, 1, 8, 0, 5, 1000, 400, 285, 195, 1048576, 1048576, NULL, 8);
-- expect: communicator of 16 ranks on 2 hosts: at least 28% of a step is communication (285 ns of 1.00 us), 1.00 MiB a step at 12500.0 MB/s | cost_ns=1425 stack_id=8 merge_key='ab' severity=info
-- expect: communicator of 2 ranks on modelled nodes: at least 28% of a step is communication (285 ns of 1.00 us), 1.00 MiB a step at 100.0 MB/s
-- expect: communicator of 16 ranks on hosts with 8 ranks each: at least 28% of a step is communication (285 ns of 1.00 us), 1.00 MiB a step at unknown speed
-- test: quiet at exactly the share and just below it, at exactly the idle time and above it, with four steps, on one node, and where kernels were not recorded
INSERT INTO comm_cost (process_id, comm_hash, nranks, hosts, local_ranks, is_modelled, steps, step_ns, comm_ns,
  least_comm_ns, idle_ns, bytes, known)
VALUES (1, 171, 16, 2, NULL, 0, 5, 1000, 400, 280, 100, 1048576, 1),
  (2, 171, 16, 2, NULL, 0, 5, 1000, 400, 275, 100, 1048576, 1),
  (3, 171, 16, 2, NULL, 0, 5, 1000, 400, 300, 200, 1048576, 1),
  (4, 171, 16, 2, NULL, 0, 5, 1000, 400, 300, 205, 1048576, 1),
  (5, 171, 16, 2, NULL, 0, 4, 1000, 400, 300, 100, 1048576, 1),
  (6, 171, 16, 1, 16, 0, 5, 1000, 400, 300, 100, 1048576, 1),
  (7, 171, 16, 1, NULL, 0, 5, 1000, 400, 300, 100, 1048576, 1),
  (8, 171, 16, 2, NULL, 0, 5, 1000, 400, 300, 100, 1048576, 0);
-- expect: none
