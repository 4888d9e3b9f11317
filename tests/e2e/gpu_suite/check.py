# SPDX-License-Identifier: Apache-2.0
"""The usual check: a client runs bare and recorded; output and status are equal, and the report says what it must."""
import dataclasses
import json
import re

from .runner import collect_rings


@dataclasses.dataclass
class Check:
    name: str
    command: list  # "{clients}/x" and "{scripts}/x.py" are filled in
    first: str = ""  # rule of the first finding, those at warning or above before the others; "" or "silent" = nothing
    #                  there; one of several: "GD101|GD109|silent"
    marked: bool = False  # the first location must be the line the client prints after MARK
    where: str = ""  # or its file must end with this
    says: str = ""  # a line of standard error of the recorded run must hold this
    timeout: int = 60
    status: int = 0  # how the client ends by itself
    level: str = ""  # --level of the recorded run
    options: tuple = ()  # more options of graphdoctor run
    env: dict = dataclasses.field(default_factory=dict)  # more variables of the client, bare and recorded
    alone: bool = False
    note: str = ""

    def run(self, runner):
        bare = runner.run(runner.command(self.command), self.name + ".bare", self.timeout, self.env)
        if bare.status != self.status:
            return "the client itself fails: " + bare.describe()
        ended, report = self.recorded(runner)
        if ended.status != bare.status:
            return "bare %s, recorded %s" % (bare.describe(), ended.describe())
        if comparable(ended.out) != comparable(bare.out):
            return "standard output differs from the bare run"
        if self.says and self.says not in ended.err:
            return "standard error does not say: " + self.says
        if report is None:
            return None
        if isinstance(report, str):
            return report
        return self.judge(report, ended.out) or self.expectations(runner, ended.out)

    def recorded(self, runner):
        """How the recorded run ended, and its report: the document, None (by hand) or why there is none."""
        if runner.by_hand:
            spool = runner.spool(self.name)
            ended = runner.run(runner.command(self.command), self.name, self.timeout, {**runner.hand_env(spool), **self.env})
            collect_rings(spool)
            return ended, None
        trace, report = runner.work / (self.name + ".gdt"), runner.work / (self.name + ".json")
        level = ["--level", self.level] if self.level else []
        command = [runner.program, "run", "--force", "-o", str(trace), "--report", "json=" + str(report), *level,
                   *self.options, "--"] + runner.command(self.command)
        ended = runner.run(command, self.name, self.timeout, self.env)
        try:
            return ended, json.loads(report.read_text())
        except (OSError, ValueError) as error:
            return ended, "no report: %s" % error

    def judge(self, report, out):
        serious = [f for f in report["findings"] if f["severity"] in ("warning", "error")]
        words = self.first.split("|")
        rules = [word for word in words if word not in ("", "silent")]
        if not serious and len(rules) < len(words):
            return None
        if not rules:
            return "unexpected %s: %s" % (serious[0]["rule"], serious[0].get("message", ""))
        shown = serious or report["findings"]  # some rules only inform
        if not shown:
            return "expected %s, the report is empty" % self.first
        head = shown[0]
        if head["rule"] not in rules:
            return "expected %s first, got %s: %s" % (self.first, head["rule"], head.get("message", ""))
        return self.placed(head, out)

    def placed(self, head, out):
        place = (head.get("locations") or [{}])[0]
        seen = "%s:%s" % (place.get("file"), place.get("line"))
        if self.marked:
            mark = re.search(r"^MARK (.*):(\d+)$", out, re.M)
            if not mark or seen != "%s:%s" % mark.groups():
                return "expected %s, got %s" % (mark.group(0) if mark else "a MARK line", seen)
        if self.where and not str(place.get("file")).endswith(self.where):
            return "expected a line of %s, got %s" % (self.where, seen)
        return None

    def expectations(self, runner, out):
        """The client's own arithmetic against the trace: lines `EXPECT SQL => VALUE`."""
        for sql, value in re.findall(r"^EXPECT (.*) => (.*)$", out, re.M):
            rows = runner.query(runner.work / (self.name + ".gdt"), sql)
            seen = ",".join(rows[-1]) if rows else "no row"
            if seen != value:
                return "%s: expected %s, got %s" % (sql, value, seen)
        return None


def comparable(text):
    """Addresses and times differ from run to run."""
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
