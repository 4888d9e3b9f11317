# SPDX-License-Identifier: Apache-2.0
"""Faults that need peers: every process ends by itself, and the trace of each rank holds its last operation with its line."""
import json
import pathlib
import subprocess

from gpu_suite.runner import collect_rings

NAME, SECONDS = "faults", 110
# fault -> options of the layout that it needs
FAULTS = {
    "rank-divergent-capture": ["--dp", "2"],
    "pp-unfused-p2p": ["--pp", "2"],
    "ring-send-recv-order": ["--cp", "2"],
    "nccl-abort": ["--dp", "2"],
}
WATCHDOG = 40
PACK = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "pack_spool"
LAST = """SELECT p.rank, (SELECT f.file || ':' || f.line FROM api_call AS c JOIN stack_frame AS f USING (stack_id)
    WHERE c.process_id = p.process_id AND f.line IS NOT NULL AND f.file LIKE '%reference-trainer%'
    AND f.file NOT LIKE '%/src/runtime/%'
    ORDER BY c.start_ns DESC, f.position LIMIT 1) FROM process AS p WHERE p.rank IS NOT NULL ORDER BY p.rank"""


def known(job):
    """Faults that this trainer has."""
    done = subprocess.run(job.trainer("--list-faults", "--json"), capture_output=True, text=True, timeout=20)
    listed = json.loads(done.stdout)
    listed = listed.get("faults", []) if isinstance(listed, dict) else listed
    return {fault["id"] for fault in listed}


def packed(job, label):
    """The spool of a run by hand, packed as a fixture wants it; None when there is nothing."""
    spool = job.runner.work / (label + ".spool")
    collect_rings(spool)
    target = job.runner.work / ("spool-" + label)
    done = subprocess.run([str(PACK), str(spool), str(target)], capture_output=True, text=True, timeout=60)
    if done.returncode == 0 and any(target.iterdir()):
        job.spools.append(target)


def rows(job):
    have = known(job)
    for fault, options in FAULTS.items():
        if fault not in have:
            yield {"name": fault, "outcome": "this trainer does not have it"}
            continue
        strict = ["--shm-strict", "0"] if job.rehearse else []  # as on a GPU: what does not fit hangs
        command = job.trainer("--quiet", "--steps", "60", "--layers", "4", *options, *strict, "--fault", fault)
        ended, report = job.record(command, fault, WATCHDOG)
        row = {"name": fault, "ended": ended.describe(), "seconds": round(ended.seconds, 1)}
        if ended.status is None:
            yield {**row, "wrong": "its processes did not end by themselves"}
            continue
        if report is None:
            yield {**row, "wrong": "no report"}
            continue
        row["rules"] = ",".join(sorted({found["rule"] for found in report["findings"]})) or "none"
        last = dict(job.query(fault, LAST))
        row["last"] = "; ".join("%s at %s" % (rank, pathlib.PurePath(place).name if place else "?") for rank, place in last.items())
        lacking = [rank for rank, place in last.items() if not place]
        if len(last) < 2 or lacking:
            row["wrong"] = "no line of the last call of rank " + (", ".join(lacking) or "any")
        if job.left() > 15:  # once more by hand, for the spool alone
            spool = job.runner.spool(fault)
            job.run(command, fault + ".hand", WATCHDOG, job.runner.hand_env(spool))
            packed(job, fault)
        yield row
