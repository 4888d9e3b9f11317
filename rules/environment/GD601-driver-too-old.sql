-- SPDX-License-Identifier: Apache-2.0
-- rule: GD601 driver-too-old
-- title: Driver is older than what the job needs
-- severity: error
-- impact: wrong
-- confidence: high
-- root: none
-- param driver_min: 11040
-- why: A driver serves programs of its own CUDA version, of later ones with the same major number, and of all older ones.
--   A runtime of a later major number works on it only through a compatibility package, whose version is then the driver's
--   here. Drivers before CUDA 11.4 (driver_min is 1000 x major + 10 x minor) may lose the order between kernels of graphs
--   that are launched one right after another.
-- fix: Install a driver for the runtime's CUDA version or a newer one, put NVIDIA's compatibility package for that version
--   (cuda-compat) first in LD_LIBRARY_PATH, or take a build of the framework for the driver's major version.
-- source: CUDA compatibility guide (minor version and forward compatibility); pytorch/pytorch issues 57556 and 61063
-- message: the driver serves CUDA {driver}, {need}
SELECT d.process_id, NULL AS start_ns, NULL AS end_ns, d.version AS driver,
  CASE WHEN r.process_id IS NULL THEN printf('graphs need one for CUDA %d.%d',
      :driver_min / 1000, :driver_min % 1000 / 10)
      ELSE 'the runtime is CUDA ' || r.version END AS need
FROM stated_version AS d
LEFT JOIN stated_version AS r ON r.process_id = d.process_id
  AND r.source = 'cuda_runtime_version'
  AND r.number / 1000 > d.number / 1000
WHERE d.component = 'driver'
  AND (r.process_id IS NOT NULL OR d.number < :driver_min)
ORDER BY d.process_id;
-- test: fires for a runtime of a later major number, and just below the oldest driver
INSERT INTO stated_version (process_id, component, version, number, source)
VALUES (1, 'driver', '12.99', 12990, 'driver_version'), (1, 'runtime', '13.0', 13000, 'cuda_runtime_version'),
  (2, 'driver', '11.3', 11030, 'driver_version'), (2, 'runtime', '11.3', 11030, 'cuda_runtime_version');
-- expect: the driver serves CUDA 12.99, the runtime is CUDA 13.0 | severity=error
-- expect: the driver serves CUDA 11.3, graphs need one for CUDA 11.4
-- test: quiet for a later minor number, at the oldest driver, without a driver, and for what only the job says
INSERT INTO stated_version (process_id, component, version, number, source)
VALUES (1, 'driver', '12.0', 12000, 'driver_version'), (1, 'runtime', '12.99', 12990, 'cuda_runtime_version'),
  (2, 'driver', '11.4', 11040, 'driver_version'),
  (3, 'runtime', '10.2', 10020, 'cuda_runtime_version'),
  (4, 'driver', '12.0', 12000, 'driver_version'), (4, 'runtime', '13.0', 13000, 'mark ''versions'''),
  (5, 'driver', '12.0', 12000, 'driver_version'), (6, 'runtime', '13.0', 13000, 'cuda_runtime_version');
-- expect: none
