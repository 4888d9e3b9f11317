#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the drivers of the GPU checks must get right before there is a GPU: time-outs, what is left behind, what is brought
back, sentences instead of failures by the hundred."""
import concurrent.futures
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import types
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "multi-gpu")]
from gpu_suite import runner  # noqa: E402


def script(name):
    loader = importlib.machinery.SourceFileLoader(pathlib.Path(name).name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class DriverTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.runner = runner.Runner(types.SimpleNamespace(build=str(self.work), clients=None, by_hand=True), self.work)

    def shell(self, text, timeout):
        """Runs it with the pids of its parts in a file; returns how it ended and which of them are alive."""
        pids = self.work / "pids"
        ended = self.runner.run(["bash", "-c", text], "shell", timeout, {"PIDS": str(pids)})
        alive = []
        for pid in pids.read_text().split() if pids.exists() else []:  # a slow machine may have got nowhere
            try:
                state = pathlib.Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            alive += [pid] if state != "Z" else []
        return ended, alive

    # A session of its own, as torchrun gives its workers; the shell goes on once the other one has said its pid.
    OTHER = 'mkfifo "$PIDS.said"; setsid bash -c \'echo $$ >>"$PIDS"; echo >"$PIDS.said"; exec sleep 1000\' & read <"$PIDS.said"; '

    def test_a_time_out_ends_all_that_was_started(self):
        ended, alive = self.shell(self.OTHER + 'echo $$ >>"$PIDS"; exec sleep 1000', 3)
        self.assertIsNone(ended.status)
        self.assertEqual(alive, [])

    def test_what_an_ended_command_leaves_behind_ends_too(self):
        ended, alive = self.shell(self.OTHER + "exit 3", 60)
        self.assertEqual(ended.status, 3)
        self.assertEqual(alive, [])

    def test_the_archive_stays_within_its_limit(self):
        for i in range(6):
            (self.work / ("check%d.gdt" % i)).write_bytes(os.urandom(100_000))
        (self.work / "check0.err").write_text("why")
        spool = self.work / "check5.spool"
        spool.mkdir()
        (spool / "a.seg").write_bytes(b"segment")
        os.environ["OUT"] = str(self.work / "out")
        self.addCleanup(os.environ.pop, "OUT")
        script("gpu_checks").save(self.work, "some", 250_000, {"check4"})
        with tarfile.open(self.work / "out" / "some.tar.gz") as archive:
            names = archive.getnames()
        self.assertLess((self.work / "out" / "some.tar.gz").stat().st_size, 400_000)
        self.assertEqual(names[:2], ["some/check0.err", "some/check4.gdt"])  # why, and what failed
        self.assertIn("some/check5.spool/a.seg", names)
        self.assertLess(len(names), 8)

    def test_programs_that_are_missing_are_named(self):
        missing = script("gpu_checks").missing(types.SimpleNamespace(build=str(self.work)))
        self.assertEqual([pathlib.Path(path).name for path in missing], ["graphdoctor", "libgraphdoctor_collector.so"])
        done = subprocess.run([sys.executable, str(HERE / "multi-gpu" / "multi_gpu"), "--build", str(self.work), "--gpus", "2"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("not built, or not carried along: %s/bin/graphdoctor" % self.work, done.stdout)

    def test_a_check_that_breaks_costs_no_other(self):
        checks = script("gpu_checks")

        class Broken:
            name, alone, note = "broken", False, ""

            def run(self, runner):
                raise FileNotFoundError("no such client")

        class Fine(Broken):
            name = "fine"

            def run(self, runner):
                return None

        failed = checks.run_all([("g", Broken()), ("g", Fine())], self.runner, types.SimpleNamespace(budget=1e9, jobs=2))
        self.assertEqual(failed, {"broken"})

    def test_what_runs_on_after_the_budget_is_ended(self):
        from gpu_suite.same import Same
        checks = script("gpu_checks")
        many = Same("many", ["sleep", "9"], runs=100, toggle_ms=0, parallel=2)
        start = time.monotonic()
        self.runner.last = start + 0.5
        wrong, _ = checks.run_one(many, self.runner, start + 0.4)
        self.assertEqual(wrong, "OutOfTime: out of time")
        self.assertLess(time.monotonic() - start, 5)

    def test_kernels_that_were_skipped_are_no_success(self):
        from gpu_suite.trainer import Kernels
        program = self.work / "tests" / "trainer_cuda_kernels_test"
        program.parent.mkdir()
        names = ["Fp8.", "  Rounds", "  Multiplies"]
        rounds, multiplies = "[ RUN      ] Fp8.Rounds", "[ RUN      ] Fp8.Multiplies"
        passed = ["[       OK ] Fp8.Rounds (0 ms)", "[       OK ] Fp8.Multiplies (0 ms)"]
        for listed, lines, fine in ((names, [rounds, passed[0], multiplies, passed[1]], True),
                                    (names, [rounds, "[  SKIPPED ] Fp8.Rounds (0 ms)", multiplies, passed[1]], False),
                                    (names, [rounds, "[  FAILED  ] Fp8.Rounds (0 ms)", multiplies, passed[1]], False),
                                    (names, ["[  PASSED  ] 0 tests."], False), ([], [], False)):
            program.write_text("#!/bin/sh\ncase $1 in --gtest_list_tests)\n%s;; *)\n%s;; esac\n" % tuple(
                "".join("echo '%s'\n" % line for line in said) for said in (listed, lines)))
            program.chmod(0o700)
            wrong = Kernels().run(self.runner)
            self.assertEqual(wrong is None, fine, "%s: %s" % (lines, wrong))

    def test_a_kernel_test_that_takes_its_program_along_hides_no_other(self):
        from gpu_suite.trainer import Kernels
        program = self.work / "tests" / "trainer_cuda_kernels_test"
        program.parent.mkdir()
        program.write_text("""#!/bin/sh
case $1 in
--gtest_list_tests) echo Fp8.; echo '  Rounds'; echo '  Multiplies';;
*Rounds*) echo '[ RUN      ] Fp8.Rounds'; kill -ABRT $$;;
*) echo '[ RUN      ] Fp8.Multiplies'; echo '[       OK ] Fp8.Multiplies (0 ms)';;
esac
""")
        program.chmod(0o700)
        wrong = Kernels().run(self.runner)
        self.assertIn("Fp8.Rounds", wrong)
        self.assertNotIn("Multiplies", wrong)

    def test_a_job_is_what_its_head_comment_says(self):
        from gpu_suite import jobs
        script_file, cuda_file = self.work / "some.py", self.work / "some.cu"
        script_file.write_text("# SPDX-License-Identifier: Apache-2.0\n# EXPECT: GD101 | GD109\n# EXIT: 3\n# WHY: a\n#   b\n"
                               "import torch\nx.item()  # MARK\n# MARK would be a comment here\n")
        (check,) = jobs.checks_of(script_file)
        self.assertEqual((check.first, check.status, check.marks, check.alone), ("GD101|GD109", 3, (7,), False))
        cuda_file.write_text("// EXPECT: GD302\n// WHY: a\nint main() {} // MARK\n")
        self.assertEqual([(check.name, check.level, check.marks, check.alone) for check in jobs.checks_of(cuda_file)],
                         [("job_some_standard", "standard", (3,), True), ("job_some_full", "full", (3,), True)])
        for head in ("# EXPECT: silent\n", "# EXPECT: silent\n# WHY: a\n# EXIST: 3\n", "# EXPECT: silent\n# EXPECT: GD101\n"):
            script_file.write_text(head)
            with self.assertRaises(ValueError):
                jobs.checks_of(script_file)

    def test_a_job_is_judged_by_its_first_finding_and_its_line(self):
        from gpu_suite.jobs import Job

        def finding(rule, severity, *lines):
            return {"rule": rule, "severity": severity, "locations": [{"file": "/src/some.py", "line": line} for line in lines]}

        def wrong(first, *findings):
            return Job("some", [], first, source="some.py", marks=(7, 9)).judge({"processes": [{}], "findings": list(findings)}, "")

        for first, findings, fine in (
                ("silent", [], True), ("silent", [finding("GD304", "info")], True), ("silent", [finding("GD304", "warning")], False),
                ("GD101|GD109", [finding("GD109", "error", 9)], True), ("GD101|GD109", [finding("GD109", "error", 3, 7)], True),
                ("GD101|GD109", [finding("GD109", "error", 3)], False), ("GD101|GD109", [finding("GD109", "error")], False),
                ("GD101|GD109", [finding("GD102", "error", 7)], False), ("GD101", [], False),
                ("GD101", [finding("GD304", "info"), finding("GD101", "error", 7)], True),
                ("silent|GD302", [], True), ("silent|GD302", [finding("GD302", "warning", 7)], True),
                ("silent|GD302", [finding("GD303", "warning", 7)], False)):
            said = wrong(first, *findings)
            self.assertEqual(said is None, fine, "%s, %s: %s" % (first, findings, said))
        self.assertEqual(Job("some", []).judge({"processes": [], "findings": []}, ""), "the trace is empty")

    def test_every_client_that_a_check_names_is_built_or_a_script(self):
        built = set()
        for line in (HERE / "CMakeLists.txt").read_text().splitlines():
            if "gd_gpu_client(" in line and "function" not in line:
                built.add(line.split("(")[1].split()[0].rstrip(")"))
            if "gd_gpu_job(" in line and "function" not in line:
                built.add("jobs/" + line.split("(")[1].split()[0].rstrip(")"))
        for group, check in script("gpu_checks").all_checks():
            for word in getattr(check, "command", []) or []:
                if word.startswith("{clients}/"):
                    self.assertIn(word[10:], built, "%s of group %s" % (check.name, group))
                elif word.startswith("{scripts}/"):
                    self.assertTrue((HERE / "clients" / word[10:]).exists(), word)
                elif word.startswith("{jobs}/"):
                    self.assertTrue((HERE / "jobs" / word[7:]).exists(), word)

    @unittest.skipIf("GD_BUILD" not in os.environ, "GD_BUILD does not name a build folder")
    @unittest.skipIf(any(pathlib.Path("/dev").glob("nvidia[0-9]*")), "there is a GPU: the checks themselves can run")
    def test_the_trainer_takes_every_command_line_and_says_that_there_is_no_gpu(self):
        commands = set()
        for _, check in script("gpu_checks").all_checks():
            if hasattr(check, "common"):
                commands |= {("{build}/bin/reference-trainer", *check.common, *place) for place in (check.one, check.other)}
            elif "reference-trainer" in str(getattr(check, "command", [""])[:1]):
                commands.add(tuple(check.command))
        commands = {command for command in commands if "cuda" in command}
        self.assertGreater(len(commands), 80)

        def wrong(command):
            words = [word.format(build=os.environ["GD_BUILD"]) for word in command]
            done = subprocess.run(words, capture_output=True, text=True)
            fine = done.returncode == 3 and ("no GPU can be used" in done.stderr)
            return None if fine else "%s: status %d, %s" % (" ".join(words[1:]), done.returncode, done.stderr.strip()[-300:])

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.assertEqual([text for text in pool.map(wrong, sorted(commands)) if text], [])

    @unittest.skipUnless(pathlib.Path(os.environ.get("GD_BUILD", "/"), "tests", "gpu", "graph_trace").exists(),
                         "no clients were built")
    @unittest.skipIf(any(pathlib.Path("/dev").glob("nvidia[0-9]*")), "there is a GPU: the checks themselves can run")
    def test_no_client_succeeds_where_there_is_no_gpu(self):
        clients = pathlib.Path(os.environ["GD_BUILD"], "tests", "gpu")
        for group, check in script("gpu_checks").all_checks():
            command = getattr(check, "command", None) or [""]
            if command[0].startswith("{clients}/") and (clients / command[0][10:]).exists():
                words = [word.format(clients=clients, file=self.work / "file") for word in command]
                done = subprocess.run(words, capture_output=True, text=True)
                self.assertNotEqual(done.returncode, 0, "%s of group %s: %s" % (check.name, group, done.stdout))


if __name__ == "__main__":
    unittest.main()
