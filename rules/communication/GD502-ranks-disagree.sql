-- SPDX-License-Identifier: Apache-2.0
-- rule: GD502 ranks-disagree
-- title: Ranks of a communicator do not make the same calls
-- severity: error
-- impact: job_hangs
-- confidence: high
-- root: comm
-- needs: comm_ops>=partial, callbacks>=partial
-- why: All ranks of a communicator must make the same collective calls in the same order, and capture the same ones.
--   From the first difference on they wait for each other or mix up each other's data. Unequal sizes raise no error and
--   may stall only steps later, on another rank: the place of the stall is not the place of the cause.
-- fix: Decide on all ranks together: agree on the padded size and on whether to replay, capture or run eagerly (a small
--   all-reduce of the decision before the step), capture in a phase of its own on all ranks, and let an exception on one
--   rank stop the others.
-- source: NCCL user guide (collective calls must match, also captured ones); unequal sizes without an error and a stall
--   four steps later: reproduced on an H200
-- message: communicator of {nranks:count rank}: call {position} is {here} on rank {rank_here}, {there} on rank {rank_there}
SELECT d.process_id, d.start_ns, d.start_ns AS end_ns, d.step, d.thread_id,
  COALESCE(d.stack_id, d.other_stack_id) AS stack_id, d.comm_hash AS root_id,
  d.nranks, d.position, d.here, d.there, d.rank AS rank_here,
  d.other_rank AS rank_there,
  'communicator' AS ev1_label, printf('0x%x', d.comm_hash) AS ev1_value,
  'calls that both ranks made' AS ev2_label, d.calls AS ev2_value,
  'first difference' AS ev3_label, d.what AS ev3_value
FROM rank_divergence AS d
WHERE d.known AND d.what <> 'none'
ORDER BY d.process_id, d.comm_hash;
-- test: fires when one rank captured what the other ran eagerly
INSERT INTO rank_divergence (process_id, comm_hash, nranks, rank, other_process_id, other_rank, calls, what, position,
  here, there, start_ns, stack_id)
VALUES (2, 171, 2, 1, 1, 0, 40, 'captured', 7, 'all_reduce of 64 bytes, captured', 'all_reduce of 64 bytes, eager', 500, 3);
-- expect: communicator of 2 ranks: call 7 is all_reduce of 64 bytes, captured on rank 1, all_reduce of 64 bytes, eager on rank 0 | root_id=171 stack_id=3 severity=error
-- test: quiet when they agree and where communication was not recorded
INSERT INTO rank_divergence (process_id, comm_hash, nranks, rank, other_process_id, other_rank, calls, what, position,
  here, there, start_ns, known)
VALUES (2, 171, 2, 1, 1, 0, 40, 'none', 0, 'no further call', 'no further call', 500, 1),
  (3, 171, 2, 1, 1, 0, 40, 'bytes', 7, 'all_reduce of 64 bytes, eager', 'all_reduce of 128 bytes, eager', 500, 0);
-- expect: none
