#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs subscriber_cost in every set-up of MODES, alternated, until the time is used up; prints medians and ranges.

usage: subscriber_cost.py PROGRAM LIBRARY SECONDS [--collector LIBRARY] [--only "NAME;..."] [--cupti PATH]...
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

# name -> (GD_PROBE, loaded by injection)
MODES = {
    "bare": (None, False),
    "null": ("inject:nothing", True),
    "load": ("inject:load", True),
    "sub@inject": ("inject:subscribe", True),
    "sub2@inject": ("inject:subscribe2", True),
    "sub,unsub@inject": ("inject:subscribe+unsubscribe", True),
    "sub@start": ("start:subscribe", False),
    "sub@init": ("init:subscribe", False),
    "sub@context": ("context:subscribe", False),
    "sub@memory": ("memory:subscribe", False),
    "sub@stream": ("stream:subscribe", False),
    "sub@loaded": ("loaded:subscribe", False),
    "sub@capture": ("capture:subscribe", False),
    "sub@exec": ("exec:subscribe", False),
    "sub@warm": ("warm:subscribe", False),
    "trace@inject": ("inject:trace", True),
    "trace@context": ("context:trace", False),
    "trace@capture": ("capture:trace", False),
    "trace@inject,off@exec": ("inject:trace,exec:notrace", True),
    "no device graphs, sub@inject": ("inject:nodevicegraph+subscribe", True),
    "no api records, sub@inject": ("inject:noapi+subscribe", True),
    "no sync records, sub@inject": ("inject:nosync+subscribe", True),
    "small buffers, sub@inject": ("inject:small+subscribe", True),
    "pinned buffers, sub@inject": ("inject:pinned+subscribe", True),
    "pinned buffers, sub,trace@inject": ("inject:pinned+subscribe+trace", True),
    "sub,trace@inject": ("inject:subscribe+trace", True),
    "sub,trace@context": ("context:subscribe+trace", False),
    "sub@inject trace@capture": ("inject:subscribe,capture:trace", True),
    "sub@inject trace@capture off@exec": ("inject:subscribe,capture:trace,exec:notrace", True),
    "kernel@inject": ("inject:kernel", True),
    "kernel@inject,off@capture": ("inject:kernel,capture:nokernel", True),
    "sub@inject hes@init": ("inject:subscribe,init:hes", True),
    "driver@inject": ("inject:driver", True),
    "sub,graphs,calls@inject trace@capture": ("inject:subscribe+graphs+calls,capture:trace", True),
    "sub,graphs,calls@inject trace@capture nocalls@exec": (
        "inject:subscribe+graphs+calls,capture:trace,exec:nocalls", True),
    "sub@inject unsub@exec": ("inject:subscribe,exec:unsubscribe", True),
    "sub@inject finalize@exec": ("inject:subscribe,exec:finalize", True),
}


def environment(probe, injected, library):
    env = dict(os.environ)
    if probe:
        env["GD_PROBE"] = probe
        env["GD_PROBE_LIBRARY"] = library
        if injected:
            env["CUDA_INJECTION64_PATH"] = library
    return env


def collector_environment(library, level):
    spool = tempfile.mkdtemp(prefix="probe.spool.")
    env = dict(os.environ, GRAPHDOCTOR_SPOOL=spool, GRAPHDOCTOR_TOOL64_PATH=library, CUDA_INJECTION64_PATH=library)
    if level:
        env["GRAPHDOCTOR_LEVEL"] = level
    return env


def main():
    arguments = sys.argv[1:]
    given, copies = {}, []
    for option in ("--collector", "--only", "--cupti"):
        while option in arguments:
            at = arguments.index(option)
            given[option] = arguments[at + 1]
            copies += [arguments[at + 1]] if option == "--cupti" else []
            del arguments[at:at + 2]
    collector = given.get("--collector")
    only = given["--only"].split(";") if "--only" in given else None
    program, library, seconds = arguments
    modes = {name: environment(probe, injected, library) for name, (probe, injected) in MODES.items()}
    modes["sub@context, eager loading"] = dict(modes["sub@context"], CUDA_MODULE_LOADING="EAGER")
    for path in copies:
        for name in ("sub@inject", "sub,graphs,calls@inject trace@capture", "trace@capture"):
            modes["%s [%s]" % (name, path[-40:])] = dict(modes[name], GD_PROBE_CUPTI=path)
    if collector:
        for level in ("off", "history", "light", "standard", "full"):
            modes["collector " + level] = collector_environment(collector, level)
    modes = {name: env for name, env in modes.items() if not only or name.split(" [")[0] in only}
    seen = {name: [] for name in modes}
    noise = {}
    end = time.monotonic() + float(seconds)
    rounds = 0
    while time.monotonic() < end:
        for name, env in modes.items():
            if time.monotonic() >= end:
                break
            try:
                done = subprocess.run([program], env=env, capture_output=True, text=True, timeout=20)
            except subprocess.TimeoutExpired:
                noise.setdefault(name, "time-out")
                continue
            found = re.findall(r"(tiny|short|other|middle|empty) ([\d.]+) ([\d.]+) ([\d.]+)", done.stdout)
            if done.returncode or done.stderr:
                noise.setdefault(name, "status %d %s" % (done.returncode, done.stderr.strip().replace("\n", " | ")[:150]))
            if len(found) == 5:
                rows = {row[0]: [float(v) for v in row[1:]] for row in found}
                seen[name].append(rows["tiny"] + rows["short"] + [rows[g][2] for g in ("other", "middle", "empty")])
        rounds += 1
    print("%d rounds; medians (range) in us, of tiny then of short kernels: replay waited for, launch call, replay back to back; "
          "back to back on other memory, in the middle of a block, of kernels that touch none" % rounds)
    for name, rows in seen.items():
        cells = []
        for column in range(9):
            values = [row[column] for row in rows]
            if values:
                cells.append("%6.1f (%5.1f-%5.1f)" % (statistics.median(values), min(values), max(values)))
        print("%-60s %d  %s  %s" % (name, len(rows), " ".join(cells), noise.get(name, "")))


if __name__ == "__main__":
    main()
