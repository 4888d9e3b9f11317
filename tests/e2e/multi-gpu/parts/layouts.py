# SPDX-License-Identifier: Apache-2.0
"""Tokens/s, MFU, busy share, replay gaps and exposed NCCL of each layout, eager, auto and manual, and its losses against one rank."""
import statistics

from .job import losses, progress, serious

NAME, SECONDS = "layouts", 190
MODES = ("eager", "auto", "manual")
BAND = 2e-2  # of losses in bf16 against one rank
BAND_FP32 = 1e-4
SETTLE = 3  # progress lines before the figures count: warm-up and captures
SIGNS = {"busy": "gpu_busy.busy_ratio", "gap_p50_ns": "replay_gap.p50_ns", "gap_share": "replay_gap.share_ratio",
         "in_graph": "nccl.in_graph_ratio"}


def shape(job):
    """Layers of the size of a 1.5B model; small where it is rehearsed."""
    if job.rehearse:
        return ["--layers", "4", "--hidden", "32", "--heads", "4", "--seq-len", "32", "--micro-batch-size", "2",
                "--micro-batches", "4", "--steps", "24", "--log-interval", "2", "--lr", "1e-3"]
    return ["--dtype", "bf16", "--layers", "8", "--hidden", "2048", "--heads", "16", "--seq-len", "1024", "--vocab", "64",
            "--padded-vocab", "50304", "--micro-batch-size", "4", "--micro-batches", "4", "--steps", "40",
            "--log-interval", "5", "--lr", "1e-4"]


def vital(job, name):
    rows = job.query(name, """SELECT name, median FROM (SELECT name, percentile(value, 50) AS median FROM vital_sign
        WHERE process_id <> 0 AND value IS NOT NULL GROUP BY name)""")
    values = dict(rows)
    found = {key: round(float(values[sign]), 4) for key, sign in SIGNS.items() if values.get(sign)}
    exposed = job.query(name, """SELECT sum(exposed_eager_ns) * 1.0 / sum(end_ns - start_ns) FROM nccl_step
        WHERE steady = 1 AND exposed_eager_ns IS NOT NULL""")
    if exposed and any(exposed[0]):
        found["exposed_nccl"] = round(float(exposed[0][0]), 4)
    return found


def one(job, label, options, limit):
    """(figures, losses) of one recorded run; raises ValueError."""
    log = job.runner.work / (label + ".log")
    ended, report = job.record(job.trainer("--log", str(log), *shape(job), *options), label, limit)
    if ended.status != 0 or report is None:
        raise ValueError("%s %s" % (ended.describe(), ended.err.strip()[-200:]))
    lines = progress(ended.out)[SETTLE:]
    if not lines:
        raise ValueError("no progress lines")
    rates = [rate for rate, _, _ in lines]
    figures = {"tokens_s": round(statistics.median(rates)), "spread": "%.0f-%.0f" % (min(rates), max(rates))}
    if lines[-1][1] is not None:
        figures["mfu"] = statistics.median(mfu for _, mfu, _ in lines)
    found = serious(report)
    figures["findings"] = ",".join(sorted({finding["rule"] for finding in found})) or "none"
    return {**figures, **vital(job, label)}, losses(log)


def micro_batches(job):
    """Throughput against the number of micro-batches of a two-stage pipeline: the bubble is (P - 1) / M of a step."""
    for count in (2, 4, 8):
        label = "sweep-%d" % count
        try:
            figures, _ = one(job, label, ["--pp", "2", "--micro-batches", str(count)], 40)
            yield {"name": label, "bubble": round(1 / count, 3), **figures}
        except ValueError as error:
            yield {"name": label, "wrong": str(error)}


def rows(job):
    reference = None
    try:
        figures, reference = one(job, "one", [], 60)
        yield {"name": "one-manual", "ranks": 1, **figures}
    except ValueError as error:
        yield {"name": "one-manual", "wrong": str(error)}
    band = BAND_FP32 if job.rehearse else BAND
    for name, options in job.layouts().items():
        for mode in MODES:
            label = "%s-%s" % (name, mode)
            try:
                figures, ours = one(job, label, [*options, "--graph-mode", mode], 45)
            except ValueError as error:
                yield {"name": label, "wrong": str(error)}
                continue
            row = {"name": label, **figures}
            if reference:
                row["worst_loss"] = float("%.1e" % max(abs(a - b) / abs(b) for a, b in zip(ours, reference)))
                if len(ours) != len(reference) or row["worst_loss"] > band:
                    row["wrong"] = "losses outside the band of %.0e around one rank's" % band
            yield row
    yield from micro_batches(job)
