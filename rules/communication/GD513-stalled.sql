-- SPDX-License-Identifier: Apache-2.0
-- rule: GD513 stalled
-- title: Replay or communication never came to an end
-- severity: error
-- impact: job_hangs
-- confidence: high
-- root: comm
-- needs: callbacks>=partial
-- why: Work was launched without an error and did not end, or a runtime gave it up. Nearly always a communication waits for
--   a rank that does something else: it sends while this one sends, made another call, runs eagerly what this one
--   replays, has failed, or never got there. The rank that waits is rarely the one at fault.
--   A replay that took long, as while another rank saves a checkpoint, and after which its stream went on, is not counted.
-- fix: Compare where the ranks stand (below). If each sends before it receives, put both calls between ncclGroupStart and
--   ncclGroupEnd (torch.distributed.batch_isend_irecv) or let every second rank receive first. If one rank has failed,
--   read its error first. If all wait in different calls, make the decision to capture, replay or skip on all ranks
--   together (GD502). Without any peer's fault: update driver and NCCL, and try NCCL_GRAPH_REGISTER=0.
-- source: NCCL user guide, point-to-point and group calls; from 30 s or 20 times the median replay on it counts as stalled
-- message: {what} {outcome}{cycle}{others}
SELECT s.process_id, s.start_ns, s.end_ns, s.step, s.thread_id, s.stack_id,
  s.comm_hash AS root_id, s.comm_hash,
  CASE WHEN s.kind = 'replay' AND s.outcome <> 'failed'
    THEN s.name || ': a replay'
    ELSE s.name || COALESCE(' of rank ' || s.rank, '')
      || COALESCE(CASE s.name WHEN 'Send' THEN ' to' ELSE ' from' END
        || ' rank ' || s.peer, '') END AS what,
  CASE s.outcome
    WHEN 'never' THEN printf('was not over after %.1f s, when the process ended', (s.end_ns - s.start_ns) / 1e9)
    WHEN 'late' THEN printf('took %.1f s', (s.end_ns - s.start_ns) / 1e9)
    ELSE printf('could not complete and ended with %s after %.3f s',
      COALESCE(s.error, 'an error'), (s.end_ns - s.start_ns) / 1e9) END AS outcome,
  CASE WHEN NOT s.cycle THEN ''
    WHEN s.name = 'Recv' THEN ': every rank receives, none sends'
    ELSE ': every rank sends, none receives' END AS cycle,
  COALESCE('; ' || s.others, '')
    || CASE WHEN s.absent_ranks
      THEN '; what the other ranks did is not in this trace' ELSE '' END AS others,
  'communicator' AS ev1_label, printf('0x%x', s.comm_hash) AS ev1_value,
  'ranks' AS ev2_label, s.nranks AS ev2_value,
  'limit' AS ev3_label, NULLIF(s.limit_ns, 0) AS ev3_value, 'ns' AS ev3_unit,
  'executable' AS ev4_label, s.exec_id AS ev4_value
FROM stall AS s
WHERE s.known AND NOT s.went_on
  -- Of one that waits in an unknown communicator, any of its process may be the one.
  AND NOT EXISTS (SELECT * FROM comm_lifetime AS c
    WHERE c.aborted AND (c.comm_hash = s.comm_hash
      OR (s.comm_hash IS NULL AND c.comm_hash IN (SELECT m.comm_hash
        FROM nccl_comm AS m WHERE m.process_id = s.process_id))))
  AND NOT EXISTS (SELECT * FROM rank_divergence AS d
    WHERE d.known AND d.what <> 'none' AND (d.comm_hash = s.comm_hash
      OR (s.comm_hash IS NULL AND d.comm_hash IN (SELECT m.comm_hash
        FROM nccl_comm AS m WHERE m.process_id = s.process_id))))
  -- Who waits for a rank whose device failed in a replay is its victim (GD210).
  AND NOT EXISTS (SELECT * FROM device_fault AS f
    WHERE f.exec_id IS NOT NULL AND NOT f.have_times AND NOT f.recovered
      AND f.start_ns <= s.end_ns
      AND (f.process_id = s.process_id OR EXISTS (SELECT * FROM nccl_comm AS m
        WHERE m.process_id = f.process_id AND m.comm_hash = s.comm_hash)))
ORDER BY s.process_id, s.start_ns;
-- test: fires for sends that wait for each other, with what the others do
INSERT INTO stall (process_id, kind, name, comm_hash, nranks, rank, peer, outcome, error, start_ns, end_ns, others, cycle, stack_id)
VALUES (1, 'comm', 'Send', 171, 2, 0, 1, 'failed', 'E719', 1000000, 4000000, 'rank 1 in Send to rank 0', 1, 8),
  (2, 'comm', 'Recv', 171, 2, 1, 0, 'failed', NULL, 1000000, 4000000, NULL, 0, 8),
  (3, 'replay', 'AllReduce', 171, 2, 1, NULL, 'failed', 'E719', 1000000, 4000000, 'rank 0 in Send to rank 1', 0, 8);
-- expect: Send of rank 0 to rank 1 could not complete and ended with E719 after 0.003 s: every rank sends, none receives; rank 1 in Send to rank 0 | root_id=171 stack_id=8
-- expect: Recv of rank 1 from rank 0 could not complete and ended with an error after 0.003 s
-- expect: AllReduce of rank 1 could not complete and ended with E719 after 0.003 s; rank 0 in Send to rank 1
-- test: fires for an eager receive that its process did not see the end of
INSERT INTO stall (process_id, kind, name, comm_hash, nranks, rank, peer, outcome, start_ns, end_ns, limit_ns, others, cycle)
VALUES (1, 'comm', 'Recv', 171, 2, 0, 1, 'never', 1000000000, 11000000000, 2000000000, 'rank 1 in Recv from rank 0', 1);
-- expect: Recv of rank 0 from rank 1 was not over after 10.0 s, when the process ended: every rank receives, none sends; rank 1 in Recv from rank 0 | ev3_value=2000000000
-- test: fires for replays that never ended or took too long
INSERT INTO stall (process_id, kind, exec_id, name, outcome, start_ns, end_ns, limit_ns)
VALUES (1, 'replay', 5, 'cycle', 'never', 1000000000, 61000000000, 30000000000),
  (2, 'replay', 5, 'cycle', 'late', 1000000000, 46000000000, 30000000000);
-- expect: cycle: a replay was not over after 60.0 s, when the process ended | ev3_value=30000000000 root_id=null
-- expect: cycle: a replay took 45.0 s
-- test: quiet where ends were not recorded, and when another rule has the cause: an abort, or ranks that disagree
INSERT INTO stall (process_id, kind, name, comm_hash, outcome, known)
VALUES (1, 'replay', 'cycle', 170, 'never', 0),
  (1, 'comm', 'AllReduce', 171, 'failed', 1),
  (1, 'comm', 'AllReduce', 172, 'failed', 1),
  (1, 'replay', 'AllReduce', NULL, 'failed', 1),
  (3, 'replay', 'AllReduce', NULL, 'failed', 1);
INSERT INTO nccl_comm (process_id, comm_hash) VALUES (1, 171), (3, 172);
INSERT INTO comm_lifetime (process_id, comm_hash, aborted) VALUES (2, 171, 1);
INSERT INTO rank_divergence (process_id, comm_hash, what) VALUES (2, 172, 'captured');
-- expect: none
-- test: ranks that agree, or were not recorded, and an orderly end are no cause
INSERT INTO stall (process_id, kind, name, comm_hash, outcome)
VALUES (1, 'comm', 'AllReduce', 171, 'failed'),
  (1, 'comm', 'AllGather', 172, 'failed');
INSERT INTO comm_lifetime (process_id, comm_hash, aborted) VALUES (2, 171, 0);
INSERT INTO rank_divergence (process_id, comm_hash, what, known) VALUES (2, 171, 'none', 1), (2, 172, 'bytes', 0);
-- expect: AllReduce could not complete and ended with an error after 0.000 s
-- expect: AllGather could not complete and ended with an error after 0.000 s
-- test: quiet for the victims of a rank whose device failed in a replay, and in that rank's own process
INSERT INTO stall (process_id, kind, name, comm_hash, outcome, end_ns)
VALUES (1, 'comm', 'AllReduce', 171, 'never', 9000),
  (2, 'replay', 'cycle', NULL, 'never', 9000);
INSERT INTO nccl_comm (process_id, comm_hash) VALUES (1, 171), (2, 171);
INSERT INTO device_fault (process_id, result, exec_id, start_ns) VALUES (2, 700, 5, 9000);
-- expect: none
-- test: errors of other communicators, later ones, and those that no replay is suspected of are no cause
INSERT INTO stall (process_id, kind, name, comm_hash, outcome, end_ns)
VALUES (1, 'comm', 'AllReduce', 171, 'never', 9000),
  (1, 'comm', 'AllGather', 172, 'never', 9000),
  (1, 'comm', 'Broadcast', 173, 'never', 9000),
  (1, 'comm', 'Reduce', 174, 'never', 9000),
  (1, 'comm', 'ReduceScatter', 175, 'never', 9000);
INSERT INTO nccl_comm (process_id, comm_hash) VALUES (2, 170), (3, 172), (4, 173), (5, 174), (6, 175);
INSERT INTO device_fault (process_id, result, exec_id, start_ns, have_times, recovered)
VALUES (2, 700, 5, 100, 0, 0), (3, 700, 5, 9001, 0, 0), (4, 700, NULL, 100, 0, 0), (5, 700, 5, 100, 1, 0),
  (6, 700, 5, 100, 0, 1);
-- expect: AllReduce was not over after 0.0 s, when the process ended
-- expect: AllGather was not over after 0.0 s, when the process ended
-- expect: Broadcast was not over after 0.0 s, when the process ended
-- expect: Reduce was not over after 0.0 s, when the process ended
-- expect: ReduceScatter was not over after 0.0 s, when the process ended
-- test: says so when ranks are not in the trace, beside what the others did
INSERT INTO stall (process_id, kind, name, comm_hash, nranks, rank, outcome, end_ns, others, absent_ranks)
VALUES (1, 'comm', 'AllReduce', 171, 4, 0, 'never', 9000000000, NULL, 3),
  (2, 'comm', 'AllReduce', 172, 4, 0, 'never', 9000000000, 'rank 1 last called AllGather 2.0 s before this began', 2);
-- expect: AllReduce of rank 0 was not over after 9.0 s, when the process ended; what the other ranks did is not in this trace
-- expect: AllReduce of rank 0 was not over after 9.0 s, when the process ended; rank 1 last called AllGather 2.0 s before this began; what the other ranks did is not in this trace
-- test: quiet for a replay that took long and after which its stream went on; it fires where nothing followed
INSERT INTO stall (process_id, kind, exec_id, name, outcome, start_ns, end_ns, limit_ns, went_on)
VALUES (1, 'replay', 5, 'cycle', 'late', 1000000000, 46000000000, 30000000000, 1),
  (2, 'replay', 5, 'cycle', 'late', 1000000000, 46000000000, 30000000000, 0);
-- expect: cycle: a replay took 45.0 s | process_id=2
-- test: what another program does with communicators of its own is no cause, even where the communicator is not known
INSERT INTO stall (process_id, kind, name, comm_hash, outcome) VALUES (1, 'replay', 'cycle', NULL, 'failed');
INSERT INTO nccl_comm (process_id, comm_hash) VALUES (1, 170), (2, 171), (3, 172);
INSERT INTO comm_lifetime (process_id, comm_hash, aborted) VALUES (2, 171, 1);
INSERT INTO rank_divergence (process_id, comm_hash, what) VALUES (3, 172, 'captured');
-- expect: cycle could not complete and ended with an error after 0.000 s
