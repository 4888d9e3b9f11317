-- SPDX-License-Identifier: Apache-2.0
-- rule: GD509 aborted
-- title: Communicator aborted while graphs still use it
-- severity: error
-- impact: job_dies
-- confidence: high
-- root: comm
-- needs: comm_ops>=partial, callbacks>=partial
-- why: An abort gives a communicator up: a watchdog does it after a time-out or an error (PyTorch's NCCL watchdog), an
--   error handler or the program itself. What is in flight fails, and graphs with captured calls of that communicator can
--   never be replayed again. Ranks that stop later are victims; the first to abort has the reason. Some versions of
--   PyTorch also end a communicator with an abort in destroy_process_group: where nothing of it ran any more, no
--   later call failed and no graph was launched, this is only mentioned.
-- fix: Find out why this rank gave up: its log just before, and any rank that came late or made other calls (GD502, GD513).
--   Do not catch the error and go on: end the job and restart from a checkpoint, or destroy the graphs, make a new
--   communicator and capture again on all ranks. If the limit was too short for a long first step, raise the time-out of
--   init_process_group; TORCH_NCCL_ASYNC_ERROR_HANDLING only chooses how the job ends.
-- source: NCCL user guide, fault tolerance; PyTorch documentation, ProcessGroupNCCL environment variables;
--   pytorch/pytorch issue 104487
-- message: communicator of {nranks:count rank}: rank {rank} aborted it while {used}; {after}
SELECT c.process_id, c.destroy_start_ns AS start_ns,
  COALESCE(c.destroy_end_ns, c.destroy_start_ns) AS end_ns,
  c.destroy_stack_id AS stack_id, c.destroy_thread_id AS thread_id,
  c.comm_hash AS root_id, c.nranks, c.rank,
  CASE WHEN c.live_execs
    THEN printf('%s with its calls %s alive', counted(c.live_execs, 'executable'),
      CASE WHEN c.live_execs > 1 THEN 'were' ELSE 'was' END)
      || COALESCE(', such as ' || c.graph_name, '')
    ELSE 'a capture was open' END AS used,
  CASE WHEN c.failed_after
    THEN printf('%s of this rank failed from then on, the first %s',
      counted(c.failed_after, 'call'), c.first_failed)
    ELSE 'no later call of this rank failed' END || CASE WHEN c.unfinished
    THEN printf('; %s of such graphs had not ended', counted(c.unfinished, 'replay'))
    ELSE '' END AS after,
  CASE WHEN c.failed_after OR c.replays_after OR c.open_captures OR c.unfinished
      OR p.exit_signal THEN 'error' ELSE 'info' END AS severity,
  'communicator' AS ev1_label, printf('0x%x', c.comm_hash) AS ev1_value,
  'executables with its calls' AS ev2_label, c.live_execs AS ev2_value,
  'captures open at the time' AS ev3_label, c.open_captures AS ev3_value,
  'launches of such executables afterwards' AS ev4_label,
  c.replays_after AS ev4_value,
  'TORCH_NCCL_ASYNC_ERROR_HANDLING' AS ev5_label, (SELECT e.value FROM env_var AS e
    WHERE e.process_id = c.process_id
      AND e.name = 'TORCH_NCCL_ASYNC_ERROR_HANDLING') AS ev5_value,
  'TORCH_NCCL_BLOCKING_WAIT' AS ev6_label, (SELECT e.value FROM env_var AS e
    WHERE e.process_id = c.process_id
      AND e.name = 'TORCH_NCCL_BLOCKING_WAIT') AS ev6_value,
  'TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC' AS ev7_label, (SELECT e.value FROM env_var AS e
    WHERE e.process_id = c.process_id
      AND e.name = 'TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC') AS ev7_value
FROM comm_lifetime AS c
LEFT JOIN process AS p USING (process_id)
WHERE c.known AND c.first_abort AND (c.live_execs OR c.open_captures)
  -- A device that failed in a replay is the reason to abort (GD210).
  AND NOT EXISTS (SELECT * FROM device_fault AS f
    WHERE f.exec_id IS NOT NULL AND NOT f.have_times AND NOT f.recovered
      AND f.start_ns <= c.destroy_start_ns
      AND EXISTS (SELECT * FROM nccl_comm AS m
        WHERE m.process_id = f.process_id AND m.comm_hash = c.comm_hash))
ORDER BY c.process_id, c.comm_hash;
-- test: fires for graphs that are alive and for a capture that is open, with what failed then
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, rank, destroy_start_ns, destroy_end_ns, aborted, first_abort,
  live_execs, graph_name, open_captures, failed_after, first_failed, destroy_stack_id)
VALUES (1, 171, 4, 2, 100, 150, 1, 1, 2, 'cycle', 0, 2, 'cuGraphLaunch: E719', 5),
  (1, 172, 2, 0, 100, NULL, 1, 1, 1, NULL, 0, 1, 'cuGraphLaunch: E719', 5),
  (1, 173, 2, 0, 100, NULL, 1, 1, 0, NULL, 1, 0, NULL, 5);
INSERT INTO env_var (process_id, name, value)
VALUES (1, 'TORCH_NCCL_ASYNC_ERROR_HANDLING', '3'),
  (1, 'TORCH_NCCL_BLOCKING_WAIT', '0'),
  (1, 'TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC', '600');
-- expect: communicator of 4 ranks: rank 2 aborted it while 2 executables with its calls were alive, such as cycle; 2 calls of this rank failed from then on, the first cuGraphLaunch: E719 | root_id=171 stack_id=5 ev5_value='3' ev6_value='0' ev7_value='600'
-- expect: communicator of 2 ranks: rank 0 aborted it while 1 executable with its calls was alive; 1 call of this rank failed from then on, the first cuGraphLaunch: E719
-- expect: communicator of 2 ranks: rank 0 aborted it while a capture was open; no later call of this rank failed | severity=error
-- test: only mentioned where all had ended and nothing failed; each sign of the contrary makes it an error
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, rank, destroy_start_ns, destroy_end_ns, aborted, first_abort,
  live_execs, unfinished, failed_after, first_failed, replays_after)
VALUES (1, 171, 2, 1, 100, 105, 1, 1, 1, 0, 0, NULL, 0),
  (2, 172, 2, 1, 100, 105, 1, 1, 1, 1, 0, NULL, 0),
  (3, 173, 2, 1, 100, 105, 1, 1, 1, 0, 1, 'cuGraphLaunch: E719', 0),
  (4, 174, 2, 1, 100, 105, 1, 1, 1, 0, 0, NULL, 1),
  (5, 175, 2, 1, 100, 105, 1, 1, 1, 0, 0, NULL, 0);
INSERT INTO process (process_id, exit_status, exit_signal) VALUES (1, 0, NULL), (5, NULL, 6);
-- expect: communicator of 2 ranks: rank 1 aborted it while 1 executable with its calls was alive; no later call of this rank failed | severity=info root_id=171
-- expect: communicator of 2 ranks: rank 1 aborted it while 1 executable with its calls was alive; no later call of this rank failed; 1 replay of such graphs had not ended | severity=error root_id=172
-- expect: communicator of 2 ranks: rank 1 aborted it while 1 executable with its calls was alive; 1 call of this rank failed from then on, the first cuGraphLaunch: E719 | severity=error
-- expect: communicator of 2 ranks: rank 1 aborted it while 1 executable with its calls was alive; no later call of this rank failed | severity=error root_id=174
-- expect: communicator of 2 ranks: rank 1 aborted it while 1 executable with its calls was alive; no later call of this rank failed | severity=error root_id=175
-- test: quiet for victims, for an orderly end, with nothing alive, and where it was not recorded
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, rank, destroy_start_ns, aborted, first_abort, live_execs,
  open_captures, known)
VALUES (1, 171, 4, 0, 100, 1, 0, 2, 1, 1),
  (2, 171, 4, 0, 100, 0, 0, 2, 1, 1),
  (3, 171, 4, 0, 100, 1, 1, 0, 0, 1),
  (4, 171, 4, 0, 100, 1, 1, 2, 1, 0);
-- expect: none
-- test: quiet after a rank's device failed in a replay
INSERT INTO comm_lifetime (process_id, comm_hash, destroy_start_ns, aborted, first_abort, live_execs)
VALUES (1, 171, 100, 1, 1, 2);
INSERT INTO nccl_comm (process_id, comm_hash) VALUES (2, 171);
INSERT INTO device_fault (process_id, result, exec_id, start_ns) VALUES (2, 700, 5, 100);
-- expect: none
-- test: errors of other communicators, later ones, and those that no replay is suspected of are no reason
INSERT INTO comm_lifetime (process_id, comm_hash, nranks, destroy_start_ns, aborted, first_abort, live_execs)
VALUES (1, 171, 1, 100, 1, 1, 1), (1, 172, 2, 100, 1, 1, 1), (1, 173, 3, 100, 1, 1, 1), (1, 174, 4, 100, 1, 1, 1),
  (1, 175, 5, 100, 1, 1, 1);
INSERT INTO nccl_comm (process_id, comm_hash) VALUES (2, 170), (3, 172), (4, 173), (5, 174), (6, 175);
INSERT INTO device_fault (process_id, result, exec_id, start_ns, have_times, recovered)
VALUES (2, 700, 5, 99, 0, 0), (3, 700, 5, 101, 0, 0), (4, 700, NULL, 99, 0, 0), (5, 700, 5, 99, 1, 0),
  (6, 700, 5, 99, 0, 1);
-- expect: communicator of 1 rank: rank 0 aborted it while 1 executable with its calls was alive; no later call of this rank failed
-- expect: communicator of 2 ranks: rank 0 aborted it while 1 executable with its calls was alive; no later call of this rank failed
-- expect: communicator of 3 ranks: rank 0 aborted it while 1 executable with its calls was alive; no later call of this rank failed
-- expect: communicator of 4 ranks: rank 0 aborted it while 1 executable with its calls was alive; no later call of this rank failed
-- expect: communicator of 5 ranks: rank 0 aborted it while 1 executable with its calls was alive; no later call of this rank failed
