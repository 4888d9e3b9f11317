-- SPDX-License-Identifier: Apache-2.0
-- rule: GD602 versions-differ
-- title: Parts of the job are of different versions
-- severity: warning
-- impact: wrong
-- confidence: high
-- root: none
-- why: A program built for one major version of CUDA and run with another calls functions that the other does not have or
--   understands differently. A container image whose version check is switched off (NVIDIA_DISABLE_REQUIRE) starts on a
--   driver that is too old for it, one of an earlier major version. Two copies of NCCL in one process have two sets of communicators, and which one a call
--   reaches depends on the order in which libraries were loaded.
-- fix: Take program, framework and runtime from one source and for one major version of CUDA (one index of wheels, one
--   image). Unset NVIDIA_DISABLE_REQUIRE, so that the container says itself that the driver is too old. For two copies of
--   NCCL: see which package brings the second one (pip list, LD_LIBRARY_PATH, LD_PRELOAD) and remove it.
-- source: CUDA compatibility guide; NVIDIA container toolkit documentation, driver constraints. What a job says of itself
--   comes from its mark "versions: built for CUDA X, runtime CUDA Y": docs/recording.md
-- message: {what}
WITH found AS (
  SELECT b.process_id, 'the program was built for CUDA ' || b.version
      || ' and its runtime is CUDA ' || r.version AS what
  FROM stated_version AS b
  JOIN stated_version AS r USING (process_id)
  WHERE b.component = 'built_for' AND r.component = 'runtime'
    AND b.number / 1000 <> r.number / 1000
  UNION ALL
  SELECT c.process_id, 'the image is for CUDA ' || c.version
      || ', its version check is off, and the driver serves CUDA ' || d.version
  FROM stated_version AS c
  JOIN stated_version AS d USING (process_id)
  JOIN env_var AS e USING (process_id)
  WHERE c.component = 'container' AND d.component = 'driver'
    AND c.number / 1000 > d.number / 1000 AND e.name = 'NVIDIA_DISABLE_REQUIRE'
    AND LOWER(e.value) IN ('1', 'true')
  UNION ALL
  SELECT m.process_id, 'two copies of NCCL are loaded: ' || MIN(m.path)
      || ' and ' || MAX(m.path)
  FROM module AS m
  WHERE m.path GLOB '*/libnccl.so*'
  GROUP BY m.process_id
  HAVING COUNT(DISTINCT m.path) > 1
)
SELECT f.process_id, NULL AS start_ns, NULL AS end_ns, f.what,
  'NVIDIA_DISABLE_REQUIRE' AS ev1_label,
  (SELECT MAX(e.value) FROM env_var AS e WHERE e.process_id = f.process_id
    AND e.name = 'NVIDIA_DISABLE_REQUIRE') AS ev1_value,
  'CUDA_VERSION' AS ev2_label,
  (SELECT MAX(e.value) FROM env_var AS e WHERE e.process_id = f.process_id
    AND e.name = 'CUDA_VERSION') AS ev2_value
FROM found AS f
ORDER BY f.process_id, f.what;
-- test: fires for another major number
INSERT INTO stated_version (process_id, component, version, number, source)
VALUES (1, 'built_for', '13.0', 13000, 'a'), (1, 'runtime', '12.9', 12090, 'b');
INSERT INTO env_var (process_id, name, value) VALUES (1, 'NVIDIA_DISABLE_REQUIRE', '1'), (1, 'CUDA_VERSION', '12.9'),
  (1, 'CUDA_HOME', '/opt/cuda');
-- expect: the program was built for CUDA 13.0 and its runtime is CUDA 12.9 | ev1_value='1' ev2_value='12.9' severity=warning
-- test: fires for an image of a later major number than its driver's
INSERT INTO stated_version (process_id, component, version, number, source)
VALUES (1, 'container', '13.0', 13000, 'a'), (1, 'driver', '12.8', 12080, 'b'),
  (2, 'container', '13.0', 13000, 'a'), (2, 'driver', '12.99', 12990, 'b');
INSERT INTO env_var (process_id, name, value) VALUES (1, 'NVIDIA_DISABLE_REQUIRE', '1'),
  (2, 'NVIDIA_DISABLE_REQUIRE', 'True');
-- expect: the image is for CUDA 13.0, its version check is off, and the driver serves CUDA 12.8 | ev1_value='1'
-- expect: the image is for CUDA 13.0, its version check is off, and the driver serves CUDA 12.99 | ev1_value='True' ev2_value=null
-- test: fires for two copies of NCCL
INSERT INTO module (process_id, path) VALUES (1, '/usr/lib/libnccl.so.2.28'), (1, '/opt/torch/lib/libnccl.so.2'),
  (1, '/usr/lib/libnccl.so.2.28');
-- expect: two copies of NCCL are loaded: /opt/torch/lib/libnccl.so.2 and /usr/lib/libnccl.so.2.28
-- test: quiet for another minor number, and when only one of the two is known
INSERT INTO stated_version (process_id, component, version, number, source)
VALUES (1, 'built_for', '13.0', 13000, 'a'), (1, 'runtime', '13.99', 13990, 'b'),
  (6, 'built_for', '12.99', 12990, 'a'), (6, 'runtime', '12.0', 12000, 'b'),
  (2, 'built_for', '13.0', 13000, 'a'), (3, 'runtime', '12.0', 12000, 'b'),
  (4, 'built_for', '13.0', 13000, 'a'), (4, 'driver', '12.0', 12000, 'b'),
  (5, 'driver', '13.0', 13000, 'a'), (5, 'runtime', '12.0', 12000, 'b');
-- expect: none
-- test: quiet for an image that the driver serves, with the check on or without one, and where something else is off
INSERT INTO stated_version (process_id, component, version, number, source)
VALUES (1, 'container', '12.99', 12990, 'a'), (1, 'driver', '12.8', 12080, 'b'),
  (7, 'container', '13.0', 13000, 'a'), (7, 'driver', '13.0', 13000, 'b'),
  (2, 'container', '13.0', 13000, 'a'), (2, 'driver', '12.8', 12080, 'b'),
  (3, 'container', '13.0', 13000, 'a'), (3, 'driver', '12.8', 12080, 'b'),
  (4, 'container', '13.0', 13000, 'a'), (4, 'driver', '12.8', 12080, 'b'),
  (5, 'container', '13.0', 13000, 'a'), (5, 'runtime', '12.8', 12080, 'b'),
  (6, 'runtime', '13.0', 13000, 'a'), (6, 'driver', '12.8', 12080, 'b');
INSERT INTO env_var (process_id, name, value) VALUES (1, 'NVIDIA_DISABLE_REQUIRE', '1'),
  (2, 'NVIDIA_DISABLE_REQUIRE', '0'), (4, 'NVIDIA_OTHER', '1'), (5, 'NVIDIA_DISABLE_REQUIRE', '1'),
  (6, 'NVIDIA_DISABLE_REQUIRE', '1'), (7, 'NVIDIA_DISABLE_REQUIRE', '1');
-- expect: none
-- test: quiet for one copy, for copies in two processes, and for other libraries
INSERT INTO module (process_id, path) VALUES (1, '/usr/lib/libnccl.so.2'), (1, '/usr/lib/libnccl.so.2'),
  (2, '/opt/lib/libnccl.so.2'), (2, '/usr/lib/libnccl-net.so'), (2, '/usr/lib/libcudart.so.12');
-- expect: none
