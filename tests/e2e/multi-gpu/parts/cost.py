# SPDX-License-Identifier: Apache-2.0
"""What recording costs a captured NCCL graph over all ranks: off against a level inside one process, and against bare processes.

Beside communicators no kind of activity is switched (docs/recording.md), so inside one process only the callbacks' part shows;
the rest shows between processes, which differ by some percent: they are alternated, and the medians compared.
"""
import re
import statistics

NAME, SECONDS = "cost", 100
SIZES = ((256 << 10, 1.035), (8 << 20, 1.012))  # bytes of an all-reduce, bar
LEVELS = ("light", "standard")
PAIRS = 3
LINE = re.compile(r"^cost \S+ waited ([\d.]+) [\d.]+ [\d.]+ off_us ([\d.]+) on_us ([\d.]+)", re.M)


def measure(job, size, level, turn):
    """(ratio inside the process, microseconds of a replay while recorded); raises ValueError. Level "bare": not recorded."""
    command = job.runner.command(["{clients}/nccl_cost", str(size), level, str(job.gpus)])
    label = "cost-%d-%s-%d" % (size, level, turn)
    if level == "bare":
        ended = job.run(command, label, 30)
    else:
        ended, _ = job.record(command, label, 30, "--level", level, "--measure-overhead", "off")
    found = LINE.search(ended.err)
    if ended.status != 0 or not found:
        raise ValueError("%s %s" % (ended.describe(), ended.err.strip()[-200:]))
    return float(found.group(1)), float(found.group(3))


def rows(job):
    if job.rehearse:
        return
    for size, bar in SIZES:
        inside = {level: [] for level in LEVELS}
        whole = {level: [] for level in ("bare", *LEVELS)}
        wrong = None
        for turn in range(PAIRS):
            for level in whole:
                try:
                    ratio, recorded = measure(job, size, level, turn)
                except ValueError as error:
                    wrong = str(error)
                    continue
                whole[level].append(recorded)
                if level != "bare":
                    inside[level].append(ratio)
        for level in LEVELS:
            row = {"name": "%d KiB %s" % (size >> 10, level), "bar": bar}
            if inside[level] and whole["bare"]:
                bare, recorded = statistics.median(whole["bare"]), statistics.median(whole[level])
                row.update(inside=round(statistics.median(inside[level]), 4), processes=round(recorded / bare, 4),
                           bare_us="%.1f (%.1f-%.1f)" % (bare, min(whole["bare"]), max(whole["bare"])),
                           recorded_us="%.1f (%.1f-%.1f)" % (recorded, min(whole[level]), max(whole[level])))
                if max(row["inside"], row["processes"]) > bar:
                    row["wrong"] = "above %.3f" % bar
            else:
                row["wrong"] = wrong or "no figures"
            yield row
