# SPDX-License-Identifier: Apache-2.0
"""GraphDoctor's entry on PYTHONPATH under one CPython, with a stand-in for torch: what the trace and the report say,
and that the job sees no difference.

usage: torch_hook_test.py GRAPHDOCTOR
"""
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = os.path.join(HERE, "clients", "torch_hook_client.py")
STAND_IN = os.path.join(HERE, "stand_in", "site-packages")
GRAPHDOCTOR = sys.argv.pop(1) if len(sys.argv) > 1 else ""


def line_of(text):
    with open(CLIENT) as source:
        return next(number for number, line in enumerate(source, 1) if text in line)


class TorchHook(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="torch_hook.")
        self.addCleanup(shutil.rmtree, self.folder)
        library = os.path.join(self.folder, "libc10_cuda.so")
        shutil.copy(self.any_library(), library)
        self.env = dict(os.environ, PYTHONPATH=STAND_IN, STAND_IN_LIBRARY=library, TMPDIR=self.folder,
                        PYTHONDONTWRITEBYTECODE="1")
        for name in list(self.env):
            if name.startswith("GRAPHDOCTOR"):
                del self.env[name]

    @staticmethod
    def any_library():
        import _ctypes

        return getattr(_ctypes, "__file__", None) or os.path.join(sysconfig.get_config_var("LIBDIR"), "libffi.so")

    def run_job(self, case, *options):
        """Exit status, standard output; the JSON report is kept in self.report."""
        python = [sys.executable, "-B"]
        report = os.path.join(self.folder, "report.json")
        self.trace = os.path.join(self.folder, "out.gdt")
        command = [GRAPHDOCTOR, "run", "--force", "-o", self.trace, "--no-report", "--report", "json=" + report]
        command += list(options) + ["--"] + python + [CLIENT, case]
        ended = subprocess.run(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.errors = ended.stderr.decode()
        with open(report) as file:
            self.report = json.load(file)
        return ended.returncode, ended.stdout.decode()

    def query(self, sql):
        return subprocess.check_output([GRAPHDOCTOR, "query", self.trace, sql, "--format", "csv"],
                                       universal_newlines=True).splitlines()[1:]

    def outcome(self):
        return next(rule for rule in self.report["rules"] if rule["id"] == "GD202")

    def finding(self):
        return next((found for found in self.report["findings"] if found["rule"] == "GD202"), None)

    def test_a_block_freed_in_the_cache_and_handed_out_again(self):
        self.assertEqual(self.run_job("freed"), (0, ""), )
        found = self.finding()
        self.assertIsNotNone(found, self.outcome())
        self.assertIn("residual_add parameter 2 points to 64.0 KiB", found["message"])
        self.assertIn("torch_hook_client.py:%d in load_batch lies there now" % line_of("return torch.cuda.tensor"),
                      found["message"])
        self.assertIn("3 replays", found["message"])
        place = found["locations"][0]
        self.assertEqual((place["file"], place["line"], place["function"]),
                         (CLIENT, line_of("torch.cuda.drop(block)"), "let_go"))
        where = next(entry["value"] for entry in found["evidence"] if entry["label"] == "allocated at")
        self.assertEqual(where, "%s:%d in load_batch" % (CLIENT, line_of("return torch.cuda.tensor")))
        self.assertEqual(found["confidence"], "medium")
        self.assert_free_is_between_launches()

    def assert_free_is_between_launches(self):
        """The times are the collector's: the free lies between the first launch and the second."""
        self.assertEqual(self.query("SELECT count(*) FROM allocation AS a, (SELECT min(start_ns) AS first, (SELECT start_ns "
                                    "FROM api_call WHERE api_id = 130 ORDER BY start_ns LIMIT 1 OFFSET 1) AS second FROM "
                                    "api_call WHERE api_id = 130) AS l WHERE a.kind = 'framework' AND "
                                    "a.free_ns > l.first AND a.free_ns < l.second"), ["1"])

    def test_a_clock_that_is_set_moves_no_free(self):
        for case in ("forward", "back"):
            self.assertEqual(self.run_job(case), (0, ""))
            self.assertIsNotNone(self.finding(), self.outcome())
            self.assertIn("3 replays", self.finding()["message"])
            self.assert_free_is_between_launches()

    def test_a_snapshot_of_the_jobs_own_moves_no_free(self):
        self.assertEqual(self.run_job("snapshots")[0], 0)
        self.assertIsNotNone(self.finding(), self.outcome())
        self.assert_free_is_between_launches()

    def test_no_thread_of_ours_is_left_when_the_interpreter_goes_away(self):
        self.assertEqual(self.run_job("threads"), (0, "no thread\n"))

    def test_a_block_that_stays_is_clean(self):
        self.assertEqual(self.run_job("healthy"), (0, ""))
        self.assertIsNone(self.finding())
        self.assertEqual(self.outcome()["outcome"], "clean", self.outcome())

    def test_without_the_hook_nothing_is_clean(self):
        self.run_job("freed", "--framework-hooks=off")
        self.assertIsNone(self.finding())
        self.assertEqual(self.outcome()["outcome"], "not_evaluated")
        self.assertIn("--framework-hooks=off", self.outcome()["reason"])

    def test_python_that_ignores_its_path(self):
        for flag in ("-I", "-E", "-S"):
            # The stand-in must be found all the same.
            code = "import runpy, sys; sys.path.insert(0, %r); sys.argv = ['x', 'freed']; " \
                   "runpy.run_path(%r, run_name='__main__')" % (STAND_IN, CLIENT)
            report = os.path.join(self.folder, "report.json")
            self.trace = os.path.join(self.folder, "out.gdt")
            subprocess.check_call([GRAPHDOCTOR, "run", "--force", "-o", self.trace, "--no-report", "--report",
                                   "json=" + report, "--", sys.executable, "-B", flag, "-c", code], env=self.env, timeout=300)
            with open(report) as file:
                self.report = json.load(file)
            self.assertEqual(self.outcome()["outcome"], "not_evaluated", flag)
            self.assertIn("its hook was not loaded", self.outcome()["reason"])

    def test_a_job_that_ends_by_exit(self):
        self.assertEqual(self.run_job("exit"), (0, ""))
        self.assertIsNotNone(self.finding(), self.outcome())

    def test_a_job_that_is_killed(self):
        self.assertEqual(self.run_job("kill"), (128 + 9, ""))
        self.assertIsNotNone(self.finding(), self.outcome())

    def test_the_end_waits_for_a_look_that_is_under_way(self):
        self.env["STAND_IN_SLOW"] = "3"  # the look begins in the job's last second and is not over at its end
        self.assertEqual(self.run_job("late"), (0, ""))
        self.assertIsNotNone(self.finding(), self.outcome())

    def run_busy(self, flush):
        """A job that launches inside one long step, so that no moment is a good one for a look."""
        trace, report = os.path.join(self.folder, "busy.gdt"), os.path.join(self.folder, "busy.json")
        job = subprocess.Popen([GRAPHDOCTOR, "run", "-o", trace, "--no-report", "--report", "json=" + report, "--",
                                sys.executable, "-B", CLIENT, "busy"], env=self.env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
        self.assertEqual(job.stdout.readline(), b"ready\n")
        if flush:
            subprocess.check_output([GRAPHDOCTOR, "ctl", trace, "flush"], env=self.env, timeout=300)
            until = time.monotonic() + 240
            while time.monotonic() < until and b"GD202 error" not in subprocess.run(
                    [GRAPHDOCTOR, "ctl", trace, "report"], env=self.env, stdout=subprocess.PIPE, timeout=300).stdout:
                pass
        job.communicate(b"\n", timeout=300)
        with open(report) as file:
            self.report = json.load(file)

    def test_a_busy_job_is_not_interrupted_unless_asked(self):
        self.run_busy(flush=False)
        self.assertIsNone(self.finding())
        self.assertEqual(self.outcome()["outcome"], "not_evaluated")
        self.assertIn("not handed over", self.outcome()["reason"])

    def test_a_flush_hands_over_what_there_is(self):
        self.run_busy(flush=True)
        self.assertIsNotNone(self.finding(), self.outcome())

    def test_what_the_history_could_not_hold_is_not_clean(self):
        self.assertEqual(self.run_job("overflow"), (0, ""))
        self.assertIsNone(self.finding())
        self.assertEqual(self.outcome()["outcome"], "not_evaluated")
        # A long history takes its time to be read; on a busy machine the process ends before that, which is said.
        self.assertRegex(self.outcome()["reason"], "more than its history holds|not handed over before the process ended")

    def test_an_older_interface(self):
        self.env["STAND_IN_OLD"] = "1"
        self.assertEqual(self.run_job("freed"), (0, ""))
        self.assertIsNotNone(self.finding(), self.outcome())

    def test_the_jobs_own_history_is_its_own(self):
        self.assertEqual(self.run_job("own"), self.bare("own"))
        self.assertIn("the job records its own memory history",
                      "".join(self.query("SELECT reason FROM coverage WHERE source = 'framework_allocator'")))

    def bare(self, case):
        ended = subprocess.run([sys.executable, "-B", CLIENT, case], env=self.env, stdout=subprocess.PIPE, timeout=300)
        return ended.returncode, ended.stdout.decode()

    def test_the_interpreter_looks_as_without_us(self):
        self.assertEqual(self.run_job("plain"), self.bare("plain"))

    def test_the_jobs_own_sitecustomize_still_runs(self):
        own = os.path.join(self.folder, "own")
        os.mkdir(own)
        with open(os.path.join(own, "sitecustomize.py"), "w") as file:
            file.write("import sys\nMINE = 'mine'\nsys.from_sitecustomize = 'yes'\n")
        self.env["PYTHONPATH"] = own + os.pathsep + STAND_IN
        self.assertEqual(self.run_job("plain"), self.bare("plain"))
        self.assertIn("mine yes", self.bare("plain")[1])

    def test_a_broken_sitecustomize_is_reported_as_without_us(self):
        own = os.path.join(self.folder, "own")
        os.mkdir(own)
        with open(os.path.join(own, "sitecustomize.py"), "w") as file:
            file.write("raise ImportError('no module of mine', name='mine')\n")
        self.env["PYTHONPATH"] = own + os.pathsep + STAND_IN
        self.assertEqual(self.run_job("plain"), self.bare("plain"))
        self.assertIn("Error in sitecustomize", self.errors)


if __name__ == "__main__":
    unittest.main()
