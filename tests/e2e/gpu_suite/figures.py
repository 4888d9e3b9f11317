# SPDX-License-Identifier: Apache-2.0
"""Figures with a bar: what recording costs, what is lost, how a job's end is survived. They run alone."""
import re
import statistics
import time

from .runner import ControlPage


class Figure:
    """A client that prints figures on standard error; `alone`, because it measures times."""
    alone = True
    timeout = 120

    def __init__(self, name):
        self.name = name
        self.note = ""

    def record(self, runner, command, *options):
        trace = runner.work / (self.name + ".gdt")
        words = [runner.program, "run", "--force", "--no-report", "-o", str(trace), *options, "--", *runner.command(command)]
        return runner.run(words, self.name, self.timeout), trace


class Cost(Figure):
    """Time at a level over time at `off`, inside one process; `bar` None: only measured. Level "profiler": PyTorch's
    profiler in a bare process."""

    def __init__(self, name, command, level, bar=None):
        super().__init__(name)
        self.command, self.level, self.bar = command, level, bar

    def measure(self, runner):
        """The ratios (waited, queued); raises ValueError."""
        if self.level == "profiler":
            ended = runner.run(runner.command(self.command), self.name, self.timeout)
        else:
            ended, _ = self.record(runner, self.command, "--level", self.level)
        found = re.search(r"^cost .*waited ([\d.]+) .*queued ([\d.]+) .*$", ended.err, re.M)
        if ended.status != 0 or not found:
            raise ValueError("no figures: " + ended.describe())
        self.note = found.group(0)
        return float(found.group(1)), float(found.group(2))

    def run(self, runner):
        waited, _ = self.measure(runner)
        return "above %.3f" % self.bar if self.bar and waited > self.bar else None


class NotAbove(Figure):
    """The first cost may be at most `slack` above the second."""

    def __init__(self, name, first, second, slack):
        super().__init__(name)
        self.first, self.second, self.slack = first, second, slack

    def run(self, runner):
        ours, theirs = self.first.measure(runner), self.second.measure(runner)
        self.note = self.first.note + "; " + self.second.note
        wrong = [what for what, one, other in zip(("waited", "queued"), ours, theirs) if one > other + self.slack]
        return "%s above %s, %s" % (self.first.level, self.second.level, " and ".join(wrong)) if wrong else None


class BareAndOff(Figure):
    """`off` against bare processes, alternated: recorded processes whose control page turns to off once they run."""
    pairs = 8

    def run(self, runner):
        seen = {"bare": [], "off": []}
        for i in range(self.pairs):
            for name in seen:
                log = "%s.%s.%d" % (self.name, name, i)
                env = {}
                if name == "off":
                    spool = runner.spool(log)
                    ControlPage(spool)
                    env = runner.hand_env(spool)
                ended = runner.run(runner.command(["{clients}/level_cost", "off", "1"]), log, self.timeout, env)
                found = re.search(r"waited .*? off_us ([\d.]+) queued .*? off_us ([\d.]+)", ended.err)
                if ended.status != 0 or not found:
                    return "no figures: " + ended.describe()
                seen[name].append([float(value) for value in found.groups()])
        self.note = "; ".join(
            "%s: off %.1f us (%.1f-%.1f), bare %.1f us (%.1f-%.1f), ratio %.4f" % (
                what, *spread([row[i] for row in seen["off"]]), *spread([row[i] for row in seen["bare"]]),
                statistics.median(row[i] for row in seen["off"]) / statistics.median(row[i] for row in seen["bare"]))
            for i, what in enumerate(("waited", "queued")))
        return None


def spread(values):
    return statistics.median(values), min(values), max(values)


class Rate(Figure):
    """Node-level records at a rate: none dropped, memory bounded, device memory constant."""
    per_second, seconds = 1500, 34  # 200 kernels a replay: 300,000 records/s, 10.2 million in all
    max_memory_kib = 256 * 1024
    ring_kib = 16 * 1024

    def run(self, runner):
        ended, trace = self.record(runner, ["{clients}/load", "rate", str(self.per_second), str(self.seconds)],
                                   "--level", "full")
        launched = re.search(r"launched (\d+)", ended.out)
        found = re.search(r"launches_per_s (\d+) rss_anon_kib (\d+) device_growth_kib (-?\d+)", ended.err)
        if ended.status != 0 or not launched or not found:
            return "the client fails: " + ended.describe()
        rate, memory, growth = (int(value) for value in found.groups())
        rows = runner.query(trace, "SELECT (SELECT count(*) FROM kernel WHERE node_id IS NOT NULL), "
                            "(SELECT coalesce(sum(count), 0) FROM trace_issue WHERE severity <> 'info')")
        kernels, lost = (int(value) for value in rows[0])
        expected = int(launched.group(1)) * 200
        self.note = "%d of %d kernel records at %d/s, lost %d, RssAnon %d MiB + ring %d MiB, device memory %+d KiB" % (
            kernels, expected, rate * 200, lost, memory // 1024, self.ring_kib // 1024, growth)
        if kernels != expected or lost:
            return "records are missing"
        if memory + self.ring_kib > self.max_memory_kib:
            return "more than %d MiB" % (self.max_memory_kib // 1024)
        return "device memory grows" if growth > 8 * 1024 else None


class StartAndExit(Figure):
    """How much later a short job does its work and ends."""
    pairs, bar = 5, 0.5

    def once(self, runner, log, env):
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        ended = runner.run(runner.command(["{clients}/load", "short"]), log, self.timeout, env)
        end = start + int(ended.seconds * 1e9)
        done = re.search(r"done_ns (\d+)", ended.err)
        if ended.status != 0 or not done:
            raise ValueError("the client fails: " + ended.describe())
        return (int(done.group(1)) - start) / 1e9, (end - int(done.group(1))) / 1e9

    def run(self, runner):
        seen = {"bare": [], "recorded": []}
        for i in range(self.pairs):
            for name in seen:
                log = "%s.%s.%d" % (self.name, name, i)
                seen[name].append(self.once(runner, log, runner.hand_env(runner.spool(log)) if name == "recorded" else {}))
        later = [statistics.median(row[i] for row in seen["recorded"]) - statistics.median(row[i] for row in seen["bare"])
                 for i in (0, 1)]
        self.note = "work done %.3f s later (bare %.3f s), end %.3f s later" % (
            later[0], statistics.median(row[0] for row in seen["bare"]), later[1])
        return None if max(later) <= self.bar else "more than %.1f s" % self.bar


class Ends(Figure):
    """A job that replays each millisecond for 5 s and then ends badly: what of it is in the trace."""
    alone = False  # counts, not times
    share = 0.85

    def __init__(self, name, word, status):
        super().__init__(name)
        self.word, self.status = word, status

    def run(self, runner):
        counter = runner.work / (self.name + ".launches")
        ended, trace = self.record(runner, ["{clients}/load", "ends", self.word, "5", str(counter)])
        if ended.status != self.status:
            return "expected status %d, got %s" % (self.status, ended.describe())
        launched = int.from_bytes(counter.read_bytes()[:8], "little")
        total, timed = (int(value) for value in runner.query(
            trace, "SELECT count(*), count(start_ns) FROM replay")[0])
        self.note = "%d launches, %d in the trace, %d with device times (%.1f %%)" % (
            launched, total, timed, 100.0 * timed / max(launched, 1))
        if total not in (launched, launched + 1):  # the last one may not have been counted yet
            return "launches are missing"
        return None if timed >= self.share * launched else "too few device times"


def kernels(level):
    return Cost("cost_" + level, ["{clients}/level_cost", level], level)


def torch(way, level):
    return Cost("torch_%s_%s" % (way, level), ["python3", "{scripts}/torch_cost.py", way, level], level)


CHECKS = [
    Cost("cost_light", ["{clients}/level_cost", "light"], "light", 1.015),
    NotAbove("cost_standard", kernels("standard"), kernels("light"), 0.005),
    Cost("cost_full", ["{clients}/level_cost", "full", "4"], "full"),
    Cost("torch_replay_light", ["python3", "{scripts}/torch_cost.py", "replay", "light"], "light", 1.006),
    NotAbove("torch_replay_standard", torch("replay", "standard"), torch("replay", "light"), 0.005),
    NotAbove("torch_replay_profiler", torch("replay", "standard"), torch("replay", "profiler"), 0),
    NotAbove("torch_eager_profiler", torch("eager", "standard"), torch("eager", "profiler"), 0),
    torch("eager", "light"),
    BareAndOff("off_and_bare"),
    Rate("rate_300k"),
    StartAndExit("start_and_exit"),
    Ends("killed", "KILL", 137),
    Ends("aborted", "ABORT", 134),
    Ends("exited", "EXIT", 7),
]
