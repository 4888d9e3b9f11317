# SPDX-License-Identifier: Apache-2.0
"""A job must not notice: standard output byte for byte and the way it ends, bare and recorded, many times over, while the
recording level changes under it."""
import concurrent.futures
import os
import pathlib
import random
import threading
import time

from .check import comparable
from .runner import ControlPage

PARALLEL = 12


class Same:
    """`runs` recorded runs, `parallel` at a time, against `bare` ones without a collector; the level changes every
    `toggle_ms` (0: never)."""
    alone = True  # it fills the machine itself
    timeout = 120

    def __init__(self, name, command, runs=100, toggle_ms=100, poll_ms=None, parallel=PARALLEL, bare=2):
        self.name, self.command, self.runs, self.parallel, self.bare = "same_" + name, command, runs, parallel, bare
        self.toggle_ms, self.poll_ms, self.note = toggle_ms, poll_ms, ""

    def run(self, runner):
        words = runner.command(self.command)
        with concurrent.futures.ThreadPoolExecutor(min(self.bare, self.parallel)) as pool:
            bare = list(pool.map(lambda i: runner.run(self.filled(words, runner, "bare%d" % i), "%s.bare%d" % (self.name, i),
                                                      self.timeout), range(self.bare)))
        if any(ended.status is None for ended in bare):
            return "the client itself: time-out"
        known = {ended.status: ended for ended in reversed(bare)}  # a client that is not always the same, by itself
        statuses = []
        spool = runner.spool(self.name)
        page = ControlPage(spool)
        stop = threading.Event()
        toggler = threading.Thread(target=self.toggle, args=(page, stop))
        toggler.start()
        try:
            with concurrent.futures.ThreadPoolExecutor(self.parallel) as pool:
                wrong = [text for text in pool.map(lambda i: self.once(runner, words, spool, known, statuses, i),
                                                         range(self.runs)) if text]
        finally:
            stop.set()
            toggler.join()
        self.note = "%d runs" % self.runs
        for status, one in known.items() if len(known) > 1 else ():
            self.note += ", %s: %d bare of %d, %d recorded" % (
                one.describe(), sum(ended.status == status for ended in bare), self.bare, statuses.count(status))
        return "%d of %d: %s" % (len(wrong), self.runs, wrong[0]) if wrong else None

    @staticmethod
    def filled(words, runner, run):
        return [word.replace("{file}", str(runner.work / (run + ".count"))) for word in words]

    def toggle(self, page, stop):
        chance = random.Random(1)
        if not self.toggle_ms:
            return
        while not stop.wait(self.toggle_ms / 1000):
            page.set(chance.randrange(5))

    def once(self, runner, words, spool, known, statuses, i):
        """One recorded run against `known`, a bare run of each status that bare runs had; adds to `statuses`."""
        log = "%s.%d" % (self.name, i)
        more = {"GRAPHDOCTOR_POLL_MS": str(self.poll_ms)} if self.poll_ms else {}
        ended = runner.run(self.filled(words, runner, log), log, self.timeout, runner.hand_env(spool, **more))
        remove_traces(spool, ended.pid)
        statuses.append(ended.status)
        bare = known.get(ended.status)
        if bare is None:
            usual = " or ".join(one.describe() for one in known.values())
            return "bare %s, recorded %s, which said: %s" % (usual, ended.describe(), ended.err[-2000:])
        if comparable(ended.out) != comparable(bare.out):
            return "standard output differs from the bare run"
        for end in (".out", ".err"):
            (runner.work / (log + end)).unlink()
        return None


def remove_traces(spool, pid):
    """What a process left, or a hundred runs fill the disk."""
    rings = pathlib.Path(os.environ.get("XDG_RUNTIME_DIR") or "/dev/shm") / ("graphdoctor-%d" % os.getuid())
    for folder in (spool, rings):
        for path in folder.glob("*.%d.*" % pid):
            path.unlink(missing_ok=True)


def script(name, *words):
    return Same(name, ["python3", "{scripts}/" + words[0], *words[1:]], runs=3)


CHECKS = [
    # Many short jobs: with kinds of activity that were switched after the first replays, 4 of 541 died in a launch.
    Same("trainer", ["{build}/bin/reference-trainer", "--backend", "cuda", "--steps", "60", "--quiet"], runs=360, toggle_ms=0,
         parallel=8),
    Same("capture_errors", ["{clients}/capture_errors", "all"]),
    Same("graph_life", ["{clients}/graph_life"]),
    Same("graph_kinds", ["{clients}/graph_kinds", "all"]),
    Same("graph_kinds_10ms", ["{clients}/graph_kinds", "all"], toggle_ms=10, poll_ms=5),
    Same("trace_liveAllocations", ["{clients}/graph_trace", "liveAllocations"]),
    Same("trace_autoFree", ["{clients}/graph_trace", "autoFree"]),
    Same("trace_toggle", ["{clients}/graph_trace", "toggle"], runs=36),
    Same("trace_pairs", ["{clients}/graph_trace", "pairs"], runs=36),
    Same("killed", ["{clients}/load", "ends", "KILL", "0.4", "{{file}}"], runs=36),
    Same("aborted", ["{clients}/load", "ends", "ABORT", "0.4", "{{file}}"], runs=36),
    Same("exited", ["{clients}/load", "ends", "EXIT", "0.4", "{{file}}"], runs=36),
    # Host nodes and two processes on one GPU: one rank in twenty-four once died in a launch.
    Same("nccl_pairs", ["python3", "{scripts}/nccl_pair.py"], runs=16, toggle_ms=0, parallel=8),
    Same("nccl_pairs_toggled", ["python3", "{scripts}/nccl_pair.py"], runs=8, parallel=8),
    Same("memory", ["{clients}/memory"]),
    Same("contexts_reset", ["{clients}/contexts", "reset"]),
    Same("contexts_two", ["{clients}/contexts", "two"]),
    Same("frozen_broken", ["{clients}/frozen_scalar", "broken"]),
    Same("ends", ["{clients}/ends"]),
    Same("nccl_ranks", ["{clients}/nccl_ranks", "traffic", "both"], runs=24, parallel=6),
    script("healthy", "healthy.py", "100"),
    script("item_plain", "item_in_capture.py", "plain"),
    script("pinning_thread", "pinning_thread.py"),
    script("freed_cached", "replay_faults.py", "freed", "cached"),
    script("shapes_fallback", "shapes.py", "fallback"),
    script("compiled", "compiled.py"),
    script("item_deep", "item_in_capture.py", "deep"),
    # A level that changed while the process ended: one of forty ended in the destructors of CUPTI. Later two of forty ended in
    # std::terminate while the interpreter went away: as many bare runs tell whether that is PyTorch's own.
    Same("item_hook", ["python3", "{scripts}/item_in_capture.py", "hook"], runs=40, parallel=8, bare=40),
    script("sync_healthy", "replay_faults.py", "sync", "healthy"),
    script("freed_broken", "replay_faults.py", "freed", "broken"),
    script("side_healthy", "replay_faults.py", "side", "healthy"),
    script("side_broken", "replay_faults.py", "side", "broken"),
]
