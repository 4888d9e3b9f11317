-- SPDX-License-Identifier: Apache-2.0
-- rule: GD511 ring-turned
-- title: Captured ring keeps its peers though they change from step to step
-- severity: error
-- impact: wrong
-- confidence: high
-- root: comm
-- needs: comm_ops>=partial, callbacks>=partial
-- param replays_min: 3
-- why: A ring of sends and receives (context parallel attention) can be captured as a whole, but each captured hop keeps
--   the peers of its capture. Where the host chooses the direction or the order of the ring anew in each step, replays
--   still exchange with the old neighbours: keys and values arrive from the wrong rank, and nothing fails.
-- fix: Keep the ring's order fixed for the whole run. Or capture one graph for each order and make the order part of the
--   graph's key, the same on all ranks. Or leave the exchange eager, between one graph for each hop. Run every pair once
--   eagerly before the first capture.
-- source: NCCL user guide, using NCCL with CUDA graphs and group calls: parameters of captured calls are those of the
--   capture
-- message: {graph}: rank {rank} sends to rank {peer} of {nranks} in all {replays:count replay}; eager calls sent to ranks {eager}
SELECT r.process_id, r.start_ns, r.end_ns, r.step, r.thread_id, r.stack_id,
  r.comm_hash AS root_id, r.exec_id, r.graph_name AS graph, r.rank, r.nranks,
  r.captured_peer AS peer, r.eager_peers AS eager, r.replays,
  'communicator' AS ev1_label, printf('0x%x', r.comm_hash) AS ev1_value,
  'peers of eager calls' AS ev2_label, r.eager_peers AS ev2_value,
  'directions that they kept' AS ev3_label, r.directions AS ev3_value,
  'executable' AS ev4_label, r.exec_id AS ev4_value
FROM ring_peers AS r
WHERE r.known AND r.replays >= :replays_min
ORDER BY r.process_id, r.comm_hash, r.exec_id;
-- test: fires at the least number of replays
INSERT INTO ring_peers (process_id, comm_hash, nranks, rank, exec_id, graph_name, captured_peer, eager_peers, peers,
  directions, replays, stack_id)
VALUES (1, 171, 4, 0, 5, 'cycle', 1, '1, 3, 1', 2, 3, 3, 8);
-- expect: cycle: rank 0 sends to rank 1 of 4 in all 3 replays; eager calls sent to ranks 1, 3, 1 | root_id=171 stack_id=8 severity=error
-- test: quiet after two replays, and where communication was not recorded
INSERT INTO ring_peers (process_id, comm_hash, nranks, rank, exec_id, graph_name, captured_peer, eager_peers, peers,
  directions, replays, known)
VALUES (1, 171, 4, 0, 5, 'cycle', 1, '1, 3, 1', 2, 3, 2, 1),
  (2, 171, 4, 0, 5, 'cycle', 1, '1, 3, 1', 2, 3, 9, 0);
-- expect: none
