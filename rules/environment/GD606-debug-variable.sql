-- SPDX-License-Identifier: Apache-2.0
-- rule: GD606 debug-variable
-- title: A debugging variable changes how graphs run
-- severity: warning
-- impact: slow
-- confidence: high
-- root: none
-- needs: callbacks>=partial
-- why: CUDA_LAUNCH_BLOCKING makes every launch wait for its work, a replay too, so nothing of the next step is prepared
--   meanwhile. TORCH_NCCL_BLOCKING_WAIT (and the older NCCL_BLOCKING_WAIT) makes the host wait for each collective.
--   PYTORCH_NO_CUDA_MEMORY_CACHING gives every block back to the driver: a capture cannot allocate then, and addresses
--   change from step to step. They are set to find an error and stay in a job's script.
-- fix: Unset the variable in the script, the container or the cluster's profile that exports it. To find one error use it
--   for one run only; for captures graphdoctor names the failing call without it.
-- source: CUDA programming guide, environment variables; PyTorch documentation, CUDA environment variables and
--   torch.distributed (NCCL variables)
-- message: {name}={value} is set in a job with {execs:count executable graph}: {effect}
WITH known(name, effect) AS (VALUES
  ('CUDA_LAUNCH_BLOCKING', 'each launch waits until its work is done'),
  ('TORCH_NCCL_BLOCKING_WAIT', 'the host waits for each collective'),
  ('NCCL_BLOCKING_WAIT', 'the host waits for each collective'),
  ('PYTORCH_NO_CUDA_MEMORY_CACHING', 'every block goes back to the driver')
)
SELECT e.process_id, NULL AS start_ns, NULL AS end_ns, e.name, e.value,
  k.effect, (SELECT COUNT(*) FROM graph_exec AS x
    WHERE x.process_id = e.process_id) AS execs,
  e.name AS merge_key
FROM env_var AS e
JOIN known AS k USING (name)
WHERE LOWER(e.value) NOT IN ('', '0', 'false', 'no', 'off')
  AND EXISTS (SELECT * FROM graph_exec AS x WHERE x.process_id = e.process_id)
ORDER BY e.process_id, e.name;
-- test: fires for each of them
INSERT INTO env_var (process_id, name, value) VALUES (1, 'CUDA_LAUNCH_BLOCKING', '1'),
  (1, 'NCCL_BLOCKING_WAIT', 'true'), (1, 'PYTORCH_NO_CUDA_MEMORY_CACHING', '1'), (1, 'TORCH_NCCL_BLOCKING_WAIT', 'YES');
INSERT INTO graph_exec (process_id, exec_id) VALUES (1, 5), (1, 6), (2, 7);
-- expect: CUDA_LAUNCH_BLOCKING=1 is set in a job with 2 executable graphs: each launch waits until its work is done | severity=warning merge_key='CUDA_LAUNCH_BLOCKING'
-- expect: NCCL_BLOCKING_WAIT=true is set in a job with 2 executable graphs: the host waits for each collective
-- expect: PYTORCH_NO_CUDA_MEMORY_CACHING=1 is set in a job with 2 executable graphs: every block goes back to the driver
-- expect: TORCH_NCCL_BLOCKING_WAIT=YES is set in a job with 2 executable graphs: the host waits for each collective
-- test: quiet when switched off, for other variables, and in a process without graphs
INSERT INTO env_var (process_id, name, value) VALUES (1, 'CUDA_LAUNCH_BLOCKING', '0'),
  (1, 'TORCH_NCCL_BLOCKING_WAIT', 'False'), (1, 'NCCL_BLOCKING_WAIT', ''), (1, 'PYTORCH_NO_CUDA_MEMORY_CACHING', 'no'),
  (3, 'CUDA_LAUNCH_BLOCKING', 'off'), (1, 'CUDA_HOME', '1'), (2, 'CUDA_LAUNCH_BLOCKING', '1');
INSERT INTO graph_exec (process_id, exec_id) VALUES (1, 5), (3, 6);
-- expect: none
