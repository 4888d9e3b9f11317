# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/e2e/jobs, found by their head comments; README.md there says what those hold."""
import dataclasses
import os
import re

from .check import Check
from .runner import JOBS

# Six jobs at a time on 16 cores: libraries that start a thread for each core slow each other down.
PYTHON_ENV = {"OMP_NUM_THREADS": "2", "TORCHINDUCTOR_COMPILE_THREADS": "4"}
FIELDS = ("EXPECT", "EXIT", "ALONE", "MISSED", "WHY")


@dataclasses.dataclass
class Job(Check):
    source: str = ""  # name of its file
    marks: tuple = ()  # lines of the source, one of which the first finding must name; empty: none is asked for
    missed: str = ""  # why a report may still be silent

    def judge(self, report, out):
        if not report["processes"]:
            return "the trace is empty"
        serious = [f for f in report["findings"] if f["severity"] in ("warning", "error")]
        if self.missed and not serious:
            self.note += ", missed as known"
            return None
        return super().judge(report, out)

    def placed(self, head, out):
        """Any frame of the finding may be the marked one: libraries call back into the program."""
        if not self.marks:
            return None
        seen = [(os.path.basename(place.get("file") or ""), place.get("line")) for place in head.get("locations") or []]
        wanted = {(self.source, line) for line in self.marks}
        if not wanted & set(seen):
            return "expected line %s of %s, got %s" % (" or ".join(map(str, self.marks)), self.source,
                                                       ", ".join("%s:%s" % place for place in seen) or "no place")
        if seen[0] not in wanted:
            self.note += ", the line is a caller's"
        return None

    def expectations(self, runner, out):
        """A job that never had a graph would be silent for nothing."""
        captures, replays = runner.query(runner.work / (self.name + ".gdt"),
                                         "SELECT (SELECT count(*) FROM capture), (SELECT count(*) FROM replay)")[0]
        self.note = "%s captures, %s replays%s" % (captures, replays, self.note)
        return "the trace has no graph" if int(captures) + int(replays) == 0 else None


def head_fields(path):
    """The fields of the head comment, and the numbers of the lines that end in MARK."""
    comment = "#" if path.suffix == ".py" else "//"
    lines = path.read_text().splitlines()
    fields = {}
    for line in lines:
        if not line.startswith(comment):
            break
        found = re.match(re.escape(comment) + r" ([A-Z]+):\s*(.*)", line)
        if found and found.group(1) in fields:
            raise ValueError("%s: %s twice" % (path.name, found.group(1)))
        if found:
            fields[found.group(1)] = found.group(2)
    wrong = set(fields) - set(FIELDS)
    if wrong or not {"EXPECT", "WHY"} <= set(fields):
        raise ValueError("%s: its head comment needs EXPECT and WHY, and knows %s" % (path.name, ", ".join(FIELDS)))
    marks = tuple(number for number, line in enumerate(lines, 1) if line.endswith(comment + " MARK"))
    return fields, marks


def checks_of(path):
    """One check of a script, one for each level of a CUDA program."""
    fields, marks = head_fields(path)
    first = "|".join(word.strip() for word in fields["EXPECT"].split("|"))
    timed = first.startswith("GD3")  # how long the device idles: nothing else may run meanwhile
    common = dict(first=first, status=int(fields.get("EXIT", 0)), alone=timed or "ALONE" in fields, source=path.name, marks=marks,
                  missed=fields.get("MISSED", ""))
    name = "job_" + path.stem
    if path.suffix == ".py":
        return [Job(name, ["python3", "{jobs}/" + path.name], timeout=120, env=PYTHON_ENV, **common)]
    return [Job("%s_%s" % (name, level), ["{clients}/jobs/" + path.stem], level=level, **common) for level in ("standard", "full")]


CHECKS = [check for path in sorted(JOBS.iterdir()) if path.suffix in (".py", ".cu") for check in checks_of(path)]
