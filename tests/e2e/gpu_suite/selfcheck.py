# SPDX-License-Identifier: Apache-2.0
"""graphdoctor run --self-check where everything is there: each source works, within a minute."""
import dataclasses
import re

SOURCES = ("host runtime", "NVTX ranges", "CUDA calls", "graph times", "kernel times", "node parameters", "memory", "ring",
           "spool", "import")
# Where the machine has them: NCCL, Python stacks, PyTorch allocator.


@dataclasses.dataclass
class SelfCheck:
    name: str = "self_check"
    alone: bool = False
    note: str = ""

    def run(self, runner):
        ended = runner.run([runner.program, "run", "--self-check"], self.name, 150)
        states = dict(re.findall(r"^(\S.{17}\S?) +(works|absent|broken) ", ended.out, re.M))
        states = {source.strip(): state for source, state in states.items()}
        self.note = "%.1f s; %s" % (ended.seconds, ", ".join("%s %s" % item for item in states.items()))
        wrong = [source for source in SOURCES if states.get(source) != "works"]
        wrong += [source for source, state in states.items() if state == "broken" and source not in wrong]
        if wrong:
            return "not working: " + ", ".join(wrong) + "\n" + ended.out
        return None if ended.status == 0 else ended.describe()


CHECKS = [SelfCheck()]
