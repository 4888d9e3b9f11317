# SPDX-License-Identifier: Apache-2.0
"""The entry on PYTHONPATH in surroundings that Python itself bears."""
import os
import subprocess
import sys
import tempfile
import unittest

ENTRY = sys.argv.pop(1)


class Entry(unittest.TestCase):
    def run_python(self, path):
        env = dict(os.environ, PYTHONPATH=path, GRAPHDOCTOR_SPOOL="x")
        ended = subprocess.run([os.path.realpath(sys.executable), "-B", "-c", "print('here')"], env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        return ended.returncode, ended.stdout, ended.stderr.splitlines()[:1]

    def test_a_working_directory_that_is_gone(self):
        os.chdir(tempfile.mkdtemp())
        os.rmdir(os.getcwd())
        try:
            self.assertEqual(self.run_python(ENTRY + os.pathsep), self.run_python(os.pathsep))
            self.assertEqual(self.run_python(ENTRY + os.pathsep + "own"), self.run_python("own"))
        finally:
            os.chdir("/")


if __name__ == "__main__":
    unittest.main()
