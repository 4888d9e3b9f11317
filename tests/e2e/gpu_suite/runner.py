# SPDX-License-Identifier: Apache-2.0
"""Starts the processes of the checks, each with its own time-out, and ends what they leave behind."""
import csv
import dataclasses
import io
import mmap
import os
import pathlib
import re
import secrets
import shutil
import signal
import struct
import subprocess
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "clients"
JOBS = SCRIPTS.parent / "jobs"


@dataclasses.dataclass
class Ended:
    """How a process ended: status (negative: signal, None: time-out), what it printed, how long it took."""
    status: object
    out: str
    err: str
    seconds: float = 0.0
    pid: int = 0

    def describe(self):
        if self.status is None:
            return "time-out"
        return "signal %d" % -self.status if self.status < 0 else "status %d" % self.status


class OutOfTime(Exception):
    def __init__(self):
        super().__init__("out of time")


class Runner:
    last = float("inf")  # no process runs on after this, in time.monotonic()

    def __init__(self, options, work):
        self.build = pathlib.Path(options.build).resolve()
        self.clients = pathlib.Path(options.clients or self.build / "tests" / "gpu").resolve()
        self.by_hand = options.by_hand
        self.work = work
        self.program = str(self.build / "bin" / "graphdoctor")
        self.library = str(self.build / "lib" / "graphdoctor" / "libgraphdoctor_collector.so")

    def command(self, words):
        return [word.format(clients=self.clients, scripts=SCRIPTS, jobs=JOBS, build=self.build) for word in words]

    def run(self, command, log, timeout, extra_env=None):
        """Runs `command`, its output in <work>/<log>.out and .err; an Ended. Every variable of the collector that this
        driver inherited is left out. OutOfTime when it had to end at `last`."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHDOCTOR_")}
        token = "GD_RUN=" + secrets.token_hex(8)
        env.update(PYTHONUNBUFFERED="1", GD_RUN=token[7:], **(extra_env or {}))
        out_path, err_path = self.work / (log + ".out"), self.work / (log + ".err")
        start = time.monotonic()
        if start >= self.last:
            raise OutOfTime()
        with open(out_path, "wb") as out, open(err_path, "wb") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err, env=env, start_new_session=True)
            try:
                status = process.wait(min(timeout, self.last - start))
            except subprocess.TimeoutExpired:
                status = None
                if time.monotonic() >= self.last:
                    raise OutOfTime() from None
            finally:
                kill_started(token.encode())
                process.wait()
        seconds = time.monotonic() - start
        return Ended(status, out_path.read_text(errors="replace"), err_path.read_text(errors="replace"), seconds, process.pid)

    def spool(self, name):
        folder = self.work / (name + ".spool")
        folder.mkdir(mode=0o700)
        return folder

    def hand_env(self, spool, **more):
        """The variables `graphdoctor run` would set, for a spool folder of our own and no parent."""
        return dict(GRAPHDOCTOR_SPOOL=str(spool), GRAPHDOCTOR_TOOL64_PATH=self.library, CUDA_INJECTION64_PATH=self.library,
                    NVTX_INJECTION64_PATH=self.library, NCCL_PROFILER_PLUGIN=self.library, **more)

    def graphdoctor(self, *words, timeout=60):
        """Runs another subcommand of the product; an Ended."""
        done = subprocess.run([self.program, *words], capture_output=True, text=True, timeout=timeout)
        return Ended(done.returncode, done.stdout, done.stderr)

    def query(self, trace, sql):
        """The rows of a query as lists of strings; raises ValueError with the program's words."""
        done = self.graphdoctor("query", str(trace), sql, "--format", "csv")
        if done.status != 0:
            raise ValueError(done.err.strip() or done.describe())
        return list(csv.reader(io.StringIO(done.out)))[1:]


def started_by(token):
    """Processes that a run started, whatever groups and sessions they are in: `graphdoctor run` and torchrun make some."""
    members = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and token in (entry / "environ").read_bytes().split(b"\0"):
                members.append(int(entry.name))
        except OSError:
            continue  # it has ended, or is somebody else's
    return members


def kill_started(token):
    """Ends what a run has left behind, so that nothing keeps the GPU busy under the next one."""
    deadline = time.monotonic() + 10  # one that hangs in the driver may take its time
    while (members := started_by(token)) and time.monotonic() < deadline:
        for pid in members:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


class ControlPage:
    """The control page of a spool without a parent: the first words of collector/raw/control_page.h."""

    def __init__(self, spool, level=3):
        headers = [above / "collector" / "raw" / "version.h" for above in SCRIPTS.parents]
        text = next(header for header in headers if header.exists()).read_text()
        version = re.search(r"kRawVersion\s*=\s*(\d+)", text)
        (spool / "control").write_bytes(bytes(4096))
        with open(spool / "control", "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 4096)
        self.generation = 0
        self.page[4:6] = struct.pack("<H", int(version.group(1)))
        self.set(level)
        self.page[0:4] = struct.pack("<I", 0x54434447)

    def set(self, level):
        """0 off, 1 history, 2 light, 3 standard, 4 full."""
        self.generation += 1
        self.page[8:12] = struct.pack("<I", level)
        self.page[20:24] = struct.pack("<I", self.generation)


def collect_rings(spool):
    """The rings of a spool's processes lie on tmpfs; the segments name them. Moves them into the folder."""
    for segment in spool.glob("*.seg"):
        for base in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):
            ring = pathlib.Path(base or "/nowhere") / ("graphdoctor-%d" % os.getuid()) / (segment.stem + ".ring")
            if ring.exists():
                shutil.move(str(ring), str(spool / ring.name))
