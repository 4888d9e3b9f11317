# SPDX-License-Identifier: Apache-2.0
"""The reference trainer on CUDA: its kernels, graphs against eager execution and the host, its faults with their lines."""
import dataclasses
import json
import os
import re
import subprocess

from .check import Check

TRAINER = "{build}/bin/reference-trainer"


def losses(path):
    """(loss, gradient norm) of every step of a --log file, and the hash of the final parameters."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    end = [line["parameter_hash"] for line in lines if line["event"] == "end"]
    return [(line["loss"], line["grad_norm"]) for line in lines if line["event"] == "step"], end


def gtest_names(text):
    """What --gtest_list_tests prints: suites, and indented their tests."""
    names = []
    suite = ""
    for line in text.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word if word.endswith(".") else ""
        elif suite and word:
            names.append(suite + word)
    return names


def gtest_results(text):
    """The tests that a program started, and how those ended that did: OK, FAILED or SKIPPED."""
    started = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
    ends = re.findall(r"^\[ +(OK|FAILED|SKIPPED) +\] ([\w/]+\.[\w/]+)", text, re.M)
    return started, {test: end for end, test in ends}


@dataclasses.dataclass
class Kernels:
    """Every CUDA kernel against the host's. A test that takes the program along costs the others nothing: those that it
    kept from running run in another one."""
    name: str = "trainer_kernels"
    alone: bool = False
    note: str = ""

    def run(self, runner):
        program = runner.command(["{build}/tests/trainer_cuda_kernels_test"])
        left = gtest_names(runner.run([*program, "--gtest_list_tests"], self.name + ".list", 30).out)
        if not left:
            return "the program names no tests"
        passed, wrong = 0, []
        for part in range(len(left)):
            ended = runner.run([*program, "--gtest_filter=" + ":".join(left)], "%s.%d" % (self.name, part), 180)
            started, ends = gtest_results(ended.out)
            passed += list(ends.values()).count("OK")
            wrong += ["%s %s" % (test, end.lower()) for test, end in ends.items() if end != "OK"]
            died = [test for test in started if test not in ends]
            left = [test for test in left if test not in started]
            if died or not started or ended.status not in (0, 1):
                said = " ".join((ended.err.strip() or ended.out.strip())[-300:].split())
                wrong.append("%s: %s: %s" % (", ".join(died) or "no test", ended.describe(), said))
            if not left or not started:
                break
        self.note = "%d passed" % passed
        return "; ".join(wrong) or None


@dataclasses.dataclass
class Pair:
    """Two runs of the trainer: the same bits (band 0), or losses and first gradient norm within a relative band."""
    name: str
    common: list
    one: list
    other: list
    band: float = 0.0
    timeout: int = 120
    alone: bool = False
    note: str = ""

    def run(self, runner):
        results = []
        for place, options in (("one", self.one), ("other", self.other)):
            log = runner.work / ("%s.%s.log" % (self.name, place))
            command = runner.command([TRAINER, "--quiet", "--log", str(log), *self.common, *options])
            ended = runner.run(command, "%s.%s" % (self.name, place), self.timeout)
            if ended.status != 0:
                return "%s: %s %s" % (" ".join(options), ended.describe(), ended.err.strip()[-300:])
            results.append(losses(log))
        (first, first_end), (second, second_end) = results
        if not first or len(first) != len(second):
            return "%d and %d steps" % (len(first), len(second))
        if self.band == 0:
            return None if results[0] == results[1] else "the numbers differ"
        worst = max(abs(a[0] - b[0]) / abs(b[0]) for a, b in zip(first, second))
        norm = abs(first[0][1] - second[0][1]) / second[0][1]
        self.note = "losses within %.1e, first gradient norm %.1e" % (worst, norm)
        return None if max(worst, norm) <= self.band else "outside the band of %.0e" % self.band


@dataclasses.dataclass
class FaultCheck(Check):
    """A fault of the trainer: its rule comes first and names the line that the trainer itself names."""
    line: bool = True

    def run(self, runner):
        ended, report = self.recorded(runner)
        if ended.status is None or ended.status > 1:
            return ended.describe() + " " + ended.err.strip()[-200:]
        if report is None or isinstance(report, str):
            return report
        wrong = self.judge(report, ended.out)
        if wrong or not self.first or not self.line:
            return wrong
        places = re.findall(r"^fault \S+: module=(\S+) offset=(\S+) call=", ended.err, re.M)
        wanted = [subprocess.run(["addr2line", "-e", module, offset], capture_output=True, text=True).stdout.strip()
                  for module, offset in places]
        wanted = [os.path.normpath(re.sub(r" \(discriminator \d+\)", "", place)) for place in wanted]
        serious = [f for f in report["findings"] if f["severity"] in ("warning", "error")]
        place = ((serious or report["findings"])[0].get("locations") or [{}])[0]
        seen = "%s:%s" % (place.get("file"), place.get("line"))
        return None if seen in wanted else "expected a line of %s, got %s" % (wanted, seen)


@dataclasses.dataclass
class SteadyState(Check):
    """Steps that only replay: two graph launches, nothing allocated, no wait but the one that keeps the host from
    running ahead more than eight steps."""

    PER_STEP = """SELECT a.name, count(*) * 1.0 / (SELECT count(*) FROM step WHERE kind = 'steady' AND step BETWEEN 40 AND 90)
                  FROM api_call AS c JOIN api AS a USING (api_id) JOIN step AS s ON c.process_id = s.process_id
                    AND c.start_ns >= s.start_ns AND c.start_ns < s.end_ns
                  WHERE s.kind = 'steady' AND s.step BETWEEN 40 AND 90 GROUP BY a.name ORDER BY a.name"""

    def run(self, runner):
        wrong = super().run(runner)
        if wrong or runner.by_hand:
            return wrong
        rows = runner.query(runner.work / (self.name + ".gdt"), " ".join(self.PER_STEP.split()))
        calls = {name: float(count) for name, count in rows}
        self.note = ", ".join("%s %.2g" % item for item in calls.items()) + " a step"
        if abs(calls.get("cuGraphLaunch", 0) - 2) > 1e-9:
            return "not two graph launches a step"
        forbidden = [name for name in calls if re.search(r"Alloc|MemFree|Stream.*Synchronize|CtxSynchronize", name)]
        return "calls in steady state: " + ", ".join(forbidden) if forbidden else None


@dataclasses.dataclass
class Learns:
    """The mean loss of the last twenty steps is within two per cent of the corpus' entropy rate."""
    name: str
    options: tuple
    timeout: float
    alone: bool = True
    note: str = ""

    def run(self, runner):
        ended = runner.run(runner.command([TRAINER, *self.options]), self.name, self.timeout)
        if ended.status != 0:
            return ended.describe()
        found = re.search(r"mean loss of the last \d+: ([\d.]+), ([+-][\d.]+) % from the entropy rate", ended.out)
        if found is None:
            return "the loss and its distance from the entropy rate are not printed"
        self.note = "loss %s, %s %% from the entropy rate" % found.groups()
        return None if abs(float(found[2])) <= 2 else "not learned: " + self.note


@dataclasses.dataclass
class Modelled:
    """A rank whose peers are modelled: steps take at least the delays of the model, and graphs keep them."""
    name: str = "trainer_modelled"
    alone: bool = True
    note: str = ""

    def run(self, runner):
        seconds = {}
        for mode in ("eager", "manual"):
            for alpha in ("0", "2000"):
                place = "%s.%s.%s" % (self.name, mode, alpha)
                log = runner.work / (place + ".log")
                command = [TRAINER, "--backend", "cuda", "--steps", "300", "--comm", "model", "--dp", "2", "--graph-mode", mode,
                           "--comm-within-node", alpha, "370", "--log", str(log)]
                ended = runner.run(runner.command(command), place, 60)
                if ended.status != 0:
                    return ended.describe()
                # Intervals of ten steps. The first hold the warm-up, the last what the host had queued ahead.
                rates = [float(rate) for rate in re.findall(r"^MODELLED step .* (\d+) tokens/s", ended.out, re.M)][3:-1]
                if not rates:
                    return "the output does not say MODELLED"
                tokens = json.loads(log.read_text().splitlines()[0])["tokens_per_step"]
                seconds[mode, alpha] = tokens * sum(1 / rate for rate in rates) / len(rates)
        self.note = ", ".join("%s alpha %s us: %.2f ms a step" % (*key, value * 1e3) for key, value in seconds.items())
        # Two sums a step, of gradients and of the loss, 2 ms each. An eager step without them waits for the host.
        wrong = [mode for mode in ("eager", "manual") if seconds[mode, "2000"] < 0.95 * 2 * 0.002]
        wrong += [mode + " without delays" for mode in ("eager", "manual") if seconds[mode, "0"] > seconds[mode, "2000"] - 0.002]
        return "delays are missing: " + ", ".join(wrong) if wrong else None


@dataclasses.dataclass
class Table:
    """A table of trainer_bench at toy scale: every row runs. The figures themselves are those of a run by hand."""
    name: str
    table: str
    alone: bool = False
    note: str = ""

    def run(self, runner):
        command = ["{build}/bin/trainer_bench", "--backend", "cuda", "--scale", "toy", "--table", self.table, "--window-steps",
                   "4", "--all-rows", "--json", "--graphdoctor", ""]
        ended = runner.run(runner.command(command), self.name, 120)
        if ended.status is None:
            return ended.describe()
        rows = json.loads(ended.out)["rows"]
        wrong = ["%s: %s" % (row["what"], row["problem"]) for row in rows if "problem" in row]
        return "; ".join(wrong) or None


def fault(name, rule, *options, line=True):
    command = [TRAINER, "--backend", "cuda", "--steps", "600", "--no-marks", "--quiet", *options, "--fault"]
    return [FaultCheck("trainer_" + name, command + [name], rule, line=line, timeout=90, alone=True),
            FaultCheck("trainer_" + name + "_harmless", command + [name + "@harmless"], timeout=90, alone=True)]


def layout(name, *options):
    """A job over several ranks on the GPUs there are, against one rank, and its graphs against eager execution."""
    common = ["--backend", "cuda", "--steps", "20", "--heads", "4"]
    return [Pair("trainer_" + name, common, list(options), [], 1e-5),
            Pair("trainer_bits_" + name, common + list(options), ["--graph-mode", "eager"], [])]


def option(name, host_band, *options):
    """An option of the model on CUDA against the host, and its graphs against eager execution."""
    return [Pair("trainer_host_" + name, ["--steps", "20", *options], ["--backend", "cuda"], ["--backend", "host"], host_band),
            Pair("trainer_bits_" + name, ["--backend", "cuda", "--steps", "20", *options], ["--graph-mode", "eager"], [])]


# At the default rate dropout makes the toy model chaotic: fp32 against fp64 on the host alone, equal to 1e-6 for ten steps,
# are 5e-3 apart after thirteen. At this one they stay within 3e-8.
DROPOUTS = ["--dropout", "0.1", "--embedding-dropout", "0.1", "--attention-dropout", "0.2", "--lr", "1e-3"]
SMALL = ["--backend", "cuda", "--steps", "40"]
WIDE = ["--layers", "4", "--hidden", "256", "--heads", "4", "--seq-len", "128", "--vocab", "64", "--steps", "20"]
HEALTHY = [TRAINER, "--backend", "cuda", "--steps", "600", "--quiet"]

CHECKS = [
    Learns("trainer_learns_124m", ("--backend", "cuda", "--dtype", "bf16", "--layers", "12", "--hidden", "768", "--heads", "12",
                                   "--seq-len", "1024", "--micro-batch-size", "16", "--micro-batches", "1", "--lr", "3e-4",
                                   "--steps", "600"), 120),
    Kernels(),
    Pair("trainer_bits_fp32", SMALL, ["--graph-mode", "eager"], ["--graph-mode", "manual"]),
    Pair("trainer_bits_full", SMALL, ["--graph-mode", "eager"], ["--graph-scope", "full"]),
    Pair("trainer_bits_bf16", ["--backend", "cuda", "--dtype", "bf16", *WIDE], ["--graph-mode", "eager"], []),
    Pair("trainer_again_bf16", ["--backend", "cuda", "--dtype", "bf16", *WIDE], [], []),
    Pair("trainer_host_fp64", ["--steps", "40", "--dtype", "fp64"], ["--backend", "cuda"], ["--backend", "host"], 1e-12),
    Pair("trainer_host_fp32", ["--steps", "40"], ["--backend", "cuda"], ["--backend", "host"], 1e-5),
    Pair("trainer_bf16_fp32", ["--backend", "cuda", "--lr", "1e-3", *WIDE], ["--dtype", "bf16"], ["--dtype", "fp32"], 1e-2),
    Pair("trainer_tf32", ["--backend", "cuda", "--lr", "1e-3", *WIDE], ["--dtype", "tf32"], ["--dtype", "fp32"], 1e-2),
    Pair("trainer_pool_fallback", SMALL, ["--graph-cache-size", "0.1"], ["--graph-mode", "eager"]),
    Pair("trainer_pool_slots", [*SMALL, "--graph-key", "slot"], ["--graph-cache-size", "1"], []),
    Modelled(),
    Table("trainer_table_modes", "5.1"),
    *layout("dp", "--dp", "2", "--micro-batches", "1"),
    *layout("zero", "--dp", "2", "--micro-batches", "1", "--zero1"),
    *layout("tp_zero", "--tp", "2", "--dp", "2", "--micro-batches", "1", "--zero1"),
    *layout("tp", "--tp", "2"),
    *layout("tp_sp", "--tp", "2", "--sequence-parallel"),
    *layout("pp", "--pp", "2"),
    *layout("cp", "--cp", "2"),
    *layout("tp_pp", "--tp", "2", "--pp", "2"),
    *option("swiglu_fp64", 1e-12, "--activation", "swiglu", "--dtype", "fp64"),
    *option("swiglu_fp32", 1e-5, "--activation", "swiglu"),
    Pair("trainer_swiglu_bf16", ["--backend", "cuda", "--lr", "1e-3", "--activation", "swiglu", *WIDE],
         ["--dtype", "bf16"], ["--dtype", "fp32"], 1e-2),
    *option("dropouts_fp64", 1e-12, *DROPOUTS, "--dtype", "fp64"),
    *option("dropouts_fp32", 1e-5, *DROPOUTS),
    *option("dropouts_ring", 1e-5, *DROPOUTS, "--cp", "2", "--heads", "4"),
    Pair("trainer_dropouts_bf16", ["--backend", "cuda", *DROPOUTS, *WIDE],
         ["--dtype", "bf16"], ["--dtype", "fp32"], 1e-2),
    *[Pair("trainer_recompute_%s_%s" % (kind, dtype), ["--backend", "cuda", "--dtype", dtype, *DROPOUTS, *WIDE],
           ["--recompute", kind], []) for kind in ("selective", "full") for dtype in ("fp32", "bf16")],
    Pair("trainer_bits_recompute", ["--backend", "cuda", "--steps", "20", "--recompute", "full", *DROPOUTS],
         ["--graph-mode", "eager"], []),
    *option("bf16", 2e-2, "--dtype", "bf16", "--lr", "1e-3"),
    *option("fp16", 1e-2, "--dtype", "fp16", "--lr", "1e-3"),
    Pair("trainer_fp16_fp32", ["--backend", "cuda", "--lr", "1e-3", *WIDE], ["--dtype", "fp16"], ["--dtype", "fp32"], 1e-2),
    Pair("trainer_bits_fp16_overflow", ["--backend", "cuda", "--dtype", "fp16", "--steps", "40", "--loss-scale", "4294967296",
                                        "--loss-scale-window", "3"], ["--graph-mode", "eager"], []),
    Pair("trainer_tp_fp16", ["--backend", "cuda", "--steps", "20", "--dtype", "fp16", "--lr", "1e-3"], ["--tp", "2"], [], 1e-2),
    *option("fp8", 3e-2, "--dtype", "fp8", "--lr", "1e-3"),
    Pair("trainer_fp8_bf16", ["--backend", "cuda", "--lr", "1e-3", *WIDE], ["--dtype", "fp8"], ["--dtype", "bf16"], 3e-2),
    Pair("trainer_recompute_fp8", ["--backend", "cuda", "--dtype", "fp8", *DROPOUTS, *WIDE], ["--recompute", "full"], []),
    Pair("trainer_tp_fp8", ["--backend", "cuda", "--steps", "20", "--dtype", "fp8", "--lr", "1e-3"], ["--tp", "2"], [], 3e-2),
    SteadyState("trainer_steady", HEALTHY, timeout=90, alone=True),
    *fault("item-in-capture", "GD101"),
    *fault("no-warmup-optimizer", "GD109"),
    *fault("sync-in-graph-region", "GD302"),
    *fault("record-stream", "GD202"),
    *fault("activation-realloc", "GD402"),
    *fault("graph-cache-overflow", "GD306", line=False),
    *fault("replay-jitter", "GD303", line=False),
    *fault("unjoined-fork", "GD104"),
    *fault("abandoned-capture", "GD108"),
    *fault("tp-allreduce-unjoined", "GD114", "--dp", "2"),
    *fault("pp-event-outside-capture", "GD105"),
    *fault("tp-allreduce-stripped", "GD501", "--tp", "2", line=False),
    *[check for fault_id, rule in (("no-fallback", "GD101"), ("no-warmup-buffers", "GD109"), ("zero3-offload", "GD109"),
                                   ("h2d-pending", "GD103"), ("capture-default-stream", "GD103"),
                                   ("capture-on-all-ranks", "GD108"), ("recompute-free", "GD202"))
      for check in fault(fault_id, rule)],
    *[check for fault_id, rule in (("nonflash-attention", "GD109"), ("lr-frozen", "GD201"), ("host-beta-step", "GD201"),
                                   ("clip-frozen", "GD201"), ("eps-by-phase", "GD201"), ("graph-leak", "GD401"),
                                   ("slow-dataloader", "GD310"))
      for check in fault(fault_id, rule, line=False)],
    *fault("dropout-frozen", "GD201", "--dropout", "0.1", line=False),
    *fault("fp8-scale-host", "GD213", "--dtype", "fp8", line=False),
    *fault("pp-single-microbatch-capture", "GD302", "--pp", "2"),
]
