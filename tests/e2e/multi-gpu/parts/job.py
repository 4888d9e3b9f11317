# SPDX-License-Identifier: Apache-2.0
"""What the parts share: the ranks there are, the time that is left, recorded and bare runs."""
import json
import os
import platform
import re
import subprocess
import time

TRAINER = "{build}/bin/reference-trainer"
# name -> options; those that need more ranks than there are do not run
LAYOUTS = {
    "tp2": (2, ["--tp", "2"]),
    "pp2": (2, ["--pp", "2"]),
    "cp2": (2, ["--cp", "2"]),
    "tp4": (4, ["--tp", "4"]),
    "pp4": (4, ["--pp", "4"]),
    "tp2-pp2": (4, ["--tp", "2", "--pp", "2"]),
    "tp2-cp2-pp2": (8, ["--tp", "2", "--cp", "2", "--pp", "2"]),
}


class Job:
    def __init__(self, runner, gpus, rehearse, budget, chosen=tuple(LAYOUTS)):
        self.runner, self.gpus, self.rehearse = runner, gpus, rehearse
        self.start = time.monotonic()
        self.end = self.start + budget
        self.part_end = self.end
        self.backend = "host" if rehearse else "cuda"
        self.spools = []  # folders worth keeping
        self.chosen = chosen  # names of LAYOUTS

    def begin(self, seconds):
        self.part_end = min(self.end, time.monotonic() + seconds)

    def left(self):
        """Seconds that this part still has."""
        return self.part_end - time.monotonic()

    def layouts(self):
        # The rehearsal runs them all: its ranks are processes of one machine.
        return {name: options for name, (ranks, options) in LAYOUTS.items()
                if name in self.chosen and (self.rehearse or ranks <= self.gpus)}

    def left_of(self, row):
        """Files that a row's runs left: trace, report, output; the name of a run holds that of its row."""
        words = [row["name"], "%s-%s" % (row["part"], row["name"])]
        return [path for word in words for end in (".gdt", ".json", ".out", ".err")
                for path in [self.runner.work / (word + end)] if path.is_file()]

    def trainer(self, *options):
        return self.runner.command([TRAINER, "--backend", self.backend, *options])

    def run(self, command, name, limit, env=None):
        """Bare, under a watchdog of `limit` seconds or of what is left; raises ValueError when nothing is."""
        seconds = min(limit, self.left())
        if seconds < 2:
            raise ValueError("out of time before " + name)
        return self.runner.run(command, name, seconds, env)

    def record(self, command, name, limit, *options, env=None):
        """The same under `graphdoctor run`: how it ended, and its report as a document (None: there is none)."""
        trace, report = self.trace(name), self.runner.work / (name + ".json")
        words = [self.runner.program, "run", "--force", "--no-report", "-o", str(trace), "--report", "json=" + str(report),
                 *options, "--", *command]
        ended = self.run(words, name, limit, env)
        try:
            return ended, json.loads(report.read_text())
        except (OSError, ValueError):
            return ended, None

    def trace(self, name):
        return self.runner.work / (name + ".gdt")

    def query(self, name, sql):
        return self.runner.query(self.trace(name), " ".join(sql.split()))

    def machine(self):
        """One line for the table: what it ran on."""
        devices = ""
        if not self.rehearse:
            seen = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                                  capture_output=True, text=True)
            devices = ", ".join(sorted(set(seen.stdout.strip().splitlines())))
        return "%d x %s, %d CPUs, %s" % (self.gpus, devices or "host backend", os.cpu_count(), platform.release())


def serious(report):
    return [found for found in report["findings"] if found["severity"] in ("warning", "error")]


def losses(path):
    steps = [json.loads(line) for line in path.read_text().splitlines()]
    return [step["loss"] for step in steps if step["event"] == "step"]


def progress(out):
    """[(tokens/s, MFU in percent or None, kind)] of a trainer's progress lines."""
    found = re.findall(r"([\d.]+) tokens/s(?:  MFU ([\d.]+) %)?  (\S+)", out)
    return [(float(rate), float(mfu) if mfu else None, kind) for rate, mfu, kind in found]
