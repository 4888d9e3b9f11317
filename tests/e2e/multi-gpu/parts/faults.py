# SPDX-License-Identifier: Apache-2.0
"""Faults that need peers: every process ends by itself, and the trace of each rank holds its last operation with its line."""
import dataclasses
import json
import pathlib
import re
import subprocess

from gpu_suite.runner import collect_rings

NAME, SECONDS = "faults", 130
# fault -> options of the layout that it needs, ranks that are processes
FAULTS = {
    "pp-unfused-p2p": (["--pp", "2"], 2),
    "ring-send-recv-order": (["--cp", "2"], 2),
    "nccl-abort": (["--dp", "2"], 2),
    "rank-divergent-capture": (["--dp", "2"], 2),
    "dp-cross-node": (["--dp", "2", "--comm", "model"], 1),
}
COMM_TIMEOUT = 10  # seconds, after which a rank says for what it waits and ends
WATCHDOG = 45  # of the whole run: the start, the wait, the end
SAYS = re.compile(r"^reference-trainer: rank (\d+): (.*)$", re.M)
PACK = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "pack_spool"
# The trainer's line that queued a rank's last operation of a communicator; a rank without processes beside it has no number.
LAST = """SELECT coalesce(p.rank, 0), (SELECT o.kind || ' at ' || f.file || ':' || f.line
      FROM nccl_op AS o JOIN stack_frame AS f USING (stack_id)
      WHERE o.process_id = p.process_id AND f.file LIKE '%reference-trainer%'
        AND f.file NOT LIKE '%/src/runtime/%' AND f.file NOT LIKE '%/src/comm/%'
      ORDER BY o.time_ns DESC, o.op_id DESC, f.position LIMIT 1)
    FROM process AS p ORDER BY p.rank"""


def known(job):
    """Faults that this trainer has."""
    done = subprocess.run(job.trainer("--list-faults", "--json"), capture_output=True, text=True, timeout=20)
    listed = json.loads(done.stdout)
    listed = listed.get("faults", []) if isinstance(listed, dict) else listed
    return {fault["id"] for fault in listed}


def packed(job, label):
    """The spool of a run, packed as a fixture wants it, is kept."""
    target = job.runner.work / ("spool-" + label)
    done = subprocess.run([str(PACK), str(job.runner.work / (label + ".spool")), str(target)], capture_output=True, text=True,
                          timeout=60)
    if done.returncode == 0 and any(target.iterdir()):
        job.spools.append(target)


def record(job, command, label):
    """Recorded without a parent, so that the spool is left: how it ended, and the report of it (None: there is none)."""
    spool = job.runner.spool(label)
    ended = job.run(command, label, WATCHDOG, job.runner.hand_env(spool))
    collect_rings(spool)
    imported = job.runner.graphdoctor("import", str(spool), "-o", str(job.trace(label)))
    report = job.runner.graphdoctor("report", str(job.trace(label)), "--format", "json")
    try:
        return ended, json.loads(report.out)
    except ValueError:
        return dataclasses.replace(ended, err=imported.err + report.err), None


def rows(job):
    have = known(job)
    for fault, (options, ranks) in FAULTS.items():
        if fault not in have:
            yield {"name": fault, "outcome": "this trainer does not have it"}
            continue
        strict = ["--shm-strict", "0"] if job.rehearse and ranks > 1 else []  # as on a GPU: what does not fit hangs
        timeout = ["--comm-timeout", str(COMM_TIMEOUT)] if ranks > 1 else []  # one process waits for no other
        command = job.trainer("--quiet", "--steps", "60", "--layers", "4", *timeout, *options, *strict, "--fault", fault)
        ended, report = record(job, command, fault)
        row = {"name": fault, "ended": ended.describe(), "seconds": round(ended.seconds, 1)}
        said = dict(SAYS.findall(ended.err))
        row["said"] = "; ".join("%s: %s" % item for item in sorted(said.items())) or "nothing"
        if ended.status is None:
            yield {**row, "wrong": "its processes did not end by themselves"}
            continue
        packed(job, fault)
        if report is None:
            yield {**row, "wrong": "no report: " + ended.err.strip()[-200:]}
            continue
        row["rules"] = ",".join(sorted({found["rule"] for found in report["findings"]})) or "none"
        last = dict(job.query(fault, LAST))
        row["last"] = "; ".join("%s: %s" % (rank, re.sub(r" at \S*/", " at ", place) or "?") for rank, place in last.items())
        lacking = [rank for rank, place in last.items() if not place]
        if ranks > 1 and (len(last) < ranks or lacking):  # modelled links make no calls of NCCL
            row["wrong"] = "no line of the last operation of rank " + (", ".join(lacking) or "any")
        elif ended.status != 0 and not said:
            row["wrong"] = "no rank said why it ended: " + ended.err.strip()[-200:]
        yield row
