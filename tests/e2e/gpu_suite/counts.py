# SPDX-License-Identifier: Apache-2.0
"""Losses: a client runs once under clients/counter.cpp, an independent CUPTI client, and once recorded at level full; what
the trace holds less of is lost."""
import re

# Asked for at a high rate, or seen only while a capture is open: the trace does not promise each of them.
NOT_EACH = {"cuEventQuery", "cuStreamQuery", "cuLaunchKernel", "cuLaunchKernelEx", "cuStreamIsCapturing",
            "cuStreamGetCaptureInfo", "cuDevicePrimaryCtxRetain", "cuMemGetInfo"}


def folded(name):
    """cuMemAlloc_v2 and cuStreamSynchronize_ptsz without the suffixes of their versions."""
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name)


class Counts:
    alone = False
    timeout = 60

    def __init__(self, name, command):
        self.name, self.command, self.note = "counts_" + name, command, ""

    def run(self, runner):
        counted_in = runner.work / (self.name + ".counts")
        ended = runner.run(runner.command(self.command), self.name + ".counter", self.timeout, {
            "CUDA_INJECTION64_PATH": str(runner.clients / "libcounter.so"), "GD_COUNTER": str(counted_in)})
        if ended.status != 0 or not counted_in.exists():
            return "the counting client: " + ended.describe()
        calls, others = {}, {}
        for line in counted_in.read_text().splitlines():
            words = line.split()
            if words[0] == "call":
                calls[folded(words[1])] = calls.get(folded(words[1]), 0) + int(words[2])
            else:
                others[words[0]] = int(words[1])
        trace = runner.work / (self.name + ".gdt")
        ended = runner.run([runner.program, "run", "--force", "--no-report", "--level", "full", "-o", str(trace), "--",
                            *runner.command(self.command)], self.name, self.timeout)
        if ended.status != 0:
            return "recorded: " + ended.describe()
        return self.compare(runner, trace, calls, others)

    def compare(self, runner, trace, calls, others):
        seen = {name: int(count) for name, count in runner.query(
            trace, "SELECT a.name, count(c.api_id) FROM api AS a LEFT JOIN api_call AS c USING (api_id) GROUP BY a.name")}
        wrong = ["%s: %d counted, %d in the trace" % (name, count, seen[name]) for name, count in sorted(calls.items())
                 if name in seen and name not in NOT_EACH and seen[name] != count]
        tables = {"exec": "graph_exec", "kernel": "kernel", "memcpy": "memcpy", "memset": "memset"}
        for what, table in tables.items():
            count = int(runner.query(trace, "SELECT count(*) FROM " + table)[0][0])
            if count != others[what]:
                wrong.append("%s: %d counted, %d in the trace" % (what, others[what], count))
        followed = [name for name in calls if name in seen and name not in NOT_EACH]
        self.note = "%d calls of %d kinds, %d kernels, %d copies, %d fills" % (
            sum(calls[name] for name in followed), len(followed), others["kernel"], others["memcpy"], others["memset"])
        return "; ".join(wrong[:4]) or None


CHECKS = [
    Counts("graph_life", ["{clients}/graph_life"]),
    Counts("kinds", ["{clients}/graph_kinds", "all"]),
    Counts("capture_errors", ["{clients}/capture_errors", "all"]),
    Counts("autoFree", ["{clients}/graph_trace", "autoFree"]),
    Counts("healthy", ["python3", "{scripts}/healthy.py", "100"]),
]
