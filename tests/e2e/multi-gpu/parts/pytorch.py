# SPDX-License-Identifier: Apache-2.0
"""torchrun over all GPUs, DDP and FSDP with a captured step, under `graphdoctor run`: one report for all ranks."""
import pathlib

from .job import serious

NAME, SECONDS = "pytorch", 80
CLIENT = pathlib.Path(__file__).resolve().parent.parent / "captured_step.py"


def rows(job):
    if job.rehearse:
        return
    for way in ("ddp", "fsdp"):
        command = ["python3", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=%d" % job.gpus, str(CLIENT), way]
        bare = job.run(command, way + ".bare", 60)
        ended, report = job.record(command, way, 80)
        row = {"name": way, "bare": bare.describe(), "recorded": ended.describe()}
        if bare.status != 0 or ended.status != bare.status or report is None:
            yield {**row, "wrong": "bare %s, recorded %s %s" % (bare.describe(), ended.describe(), ended.err.strip()[-300:])}
            continue
        ranks = job.query(way, "SELECT count(DISTINCT rank), sum((SELECT count(*) FROM replay AS r WHERE r.process_id = "
                          "p.process_id)) FROM process AS p WHERE rank IS NOT NULL")[0]
        row.update(ranks=int(ranks[0]), replays=int(ranks[1]),
                   findings=",".join(sorted({found["rule"] for found in serious(report)})) or "none")
        if bare.out != ended.out:
            row["wrong"] = "standard output differs"
        elif row["ranks"] != job.gpus or row["replays"] == 0:
            row["wrong"] = "%d ranks expected" % job.gpus
        elif row["findings"] != "none":
            row["wrong"] = "a healthy job has findings"
        yield row
