# SPDX-License-Identifier: Apache-2.0
"""Follows PyTorch's caching allocator.

The allocator frees a block into its cache and hands it out again without any CUDA call. Its memory history
(torch.cuda.memory._record_memory_history and snapshots; PyTorch 2.1 and newer) shows both, with the Python lines.

What it costs decides when it is asked (measured: history without stacks 4 % of an eager step bound by the host, with
Python stacks 20-30 %; a snapshot of 100,000 entries 93 ms, with stacks up to 6.5 s):
- stacks from the start to a graph's first replays (30 s at most) and while a recording window is open, else history
  without stacks, and none at all when ten minutes pass without a graph;
- a snapshot after a graph's first replays, when somebody asks (graphdoctor ctl flush), at the end, and now and then,
  so that all snapshots together take about 1 % of the time. It stops the job's Python for some milliseconds, so it
  waits for a moment without launches outside steps, or at least for the end of a step.
A job that records its own history has it for itself.
"""
import _thread
import atexit
import ctypes
import functools
import os
import time

from .clock import WallClock
from .history import ENTRIES, History, Look, Teller
from .table import ABSENT, COMPLETE, PARTIAL, Status, now_ns, seconds

POLL_S = 0.05
NO_GRAPH_S = 600.0  # without a graph in this time there is nothing to follow
STACK_REPLAYS = 16  # stacks go on for so many launches after a new executable ...
STACK_S = 2.0  # ... and at least so long,
STACK_LONGEST_S = 30.0  # at most so long, also before the first one,
STACK_TOTAL_S = 120.0  # and all together so long: a job that captures at every step must not pay for ever
QUIET_WAIT_S = 10.0  # a snapshot that is due waits so long for a moment without launches,
STEP_WAIT_S = 30.0  # and so long for the end of a step, where it is the first after a new executable
PERIOD_S = 10.0
COST_SHARE = 100  # a snapshot that took t is followed by at least COST_SHARE * t without one
LONGEST_AT_EXIT_S = 0.4
LONGEST_WAIT_S = 10.0  # for our own thread, at the end
CLOCK_ERROR_NS = 1000000  # times that may be further off do not tell before which replay a block was freed


class Hook:
    """What follows the allocator of this process."""

    def __init__(self, torch, table, loading=()):
        self.torch = torch
        self.table = table
        self.history = History(torch)
        self.lock = _thread.allocate_lock()
        self.stays = _thread.allocate_lock()  # until our thread is to end
        self.runs = _thread.allocate_lock()  # until it has
        self.pid = os.getpid()
        self.mode = "off"  # stacks, plain, off, theirs
        self.started = self.over = False
        self.clock = WallClock.of(torch, loading)
        self.teller = Teller(table, self.clock)
        self.begun = seconds()
        self.stacks_used = 0.0
        self.status = Status(size=ctypes.sizeof(Status))
        self.told_execs = self.told_replays = self.flushes = 0
        self.seen_execs = self.exec_replays = 0
        self.exec_since = self.begun
        self.last_end = self.begun
        self.last_cost = 0.0
        self.known_ns = self.since_ns = self.cleared_ns = now_ns()
        self.due_since = None
        self.quiet = False

    # What to do now

    def wanted_mode(self, now):
        status = self.status
        if status.level == 0:
            return "off"
        if status.window:
            return "stacks"
        if status.execs == 0 and not status.open_captures:
            waited = now - self.begun
            return "stacks" if waited < STACK_LONGEST_S else "plain" if waited < NO_GRAPH_S else "off"
        since = now - self.exec_since
        first = since < STACK_S or status.replays - self.exec_replays < STACK_REPLAYS
        return "stacks" if first and since < STACK_LONGEST_S and self.stacks_used < STACK_TOTAL_S else "plain"

    def read_status(self, now):
        launched = self.status.replays
        self.table.status(ctypes.byref(self.status))
        self.quiet = self.status.replays == launched
        if self.status.execs != self.seen_execs:
            self.seen_execs = self.status.execs
            self.exec_since = now
            self.exec_replays = self.status.replays

    def reason_to_look(self, now, mode):
        """"asked", "first" (after new executables, or to end the stacks), "again", or None."""
        status = self.status
        if status.open_captures or status.execs == 0:
            return None
        if status.flushes != self.flushes:
            return "asked"
        affordable = now - self.last_end >= COST_SHARE * self.last_cost
        if mode != self.mode and (mode == "plain" or affordable):
            return "first"
        if status.execs != self.told_execs and (affordable or self.told_execs == 0):
            return "first"
        if status.replays != self.told_replays and affordable and now - self.last_end >= PERIOD_S:
            return "again"
        return None

    def may_look(self, now, reason):
        if reason == "asked":
            return True
        self.due_since = self.due_since or now
        waited = now - self.due_since
        if self.status.open_steps:
            return reason == "first" and waited > STEP_WAIT_S
        return self.quiet or waited > QUIET_WAIT_S

    def poll(self):
        now = seconds()
        self.clock.look()
        self.read_status(now)
        if self.mode == "stacks":
            self.stacks_used += POLL_S
        if self.mode == "theirs":
            if self.history.enabled() is False:
                self.mode = "off"
            return
        if self.mode in ENTRIES and self.history.enabled() is False:
            self.mode = "off"  # somebody ended it
        mode = self.wanted_mode(now)
        reason = self.reason_to_look(now, mode) if self.mode in ENTRIES and mode in ENTRIES else None
        if reason is not None:
            if self.may_look(now, reason):
                self.look(mode)
                self.due_since = None
            return
        self.due_since = None
        if mode != self.mode and (self.mode == "off" or mode == "off" or self.status.execs == 0):
            self.switch(mode)

    # Doing it

    def say(self, state, from_ns, reason=""):
        self.table.block_coverage(state, from_ns, reason.encode())

    def switch(self, mode):
        """To a mode for which nothing needs to be read first."""
        now = now_ns()
        if mode == "off":
            if self.mode in ENTRIES:
                self.history.end()
            self.mode = "off"
            self.say(ABSENT, now, "recording is off" if self.status.level == 0 else
                     "PyTorch's caching allocator is followed again once a graph was captured")
            return
        if self.mode == "off" and self.history.enabled():
            self.mode = "theirs"
            self.say(ABSENT, now, "the job records its own memory history")
            return
        self.clock.look()
        self.history.begin(mode)
        self.mode = mode
        self.since_ns = self.cleared_ns = now
        self.say(PARTIAL, now, "what PyTorch's caching allocator did was not handed over before the process ended")

    def look(self, mode):
        """Takes a snapshot, hands over what is new and goes on in `mode`."""
        begin_s = seconds()
        look = Look(ENTRIES[self.mode], self.known_ns, self.since_ns, self.cleared_ns)
        self.clock.look()
        look.begin_ns = begin = now_ns()
        snapshot = self.history.snapshot()
        self.clock.look()
        look.end_ns = now_ns()
        if mode in ENTRIES:
            self.cleared_ns = now_ns()
            self.history.begin(mode)
        lost_until, error_ns = self.teller.hand_over(snapshot, look)
        if lost_until is not None:
            self.say(PARTIAL, self.since_ns, "PyTorch's caching allocator did more than its history holds")
        if error_ns > CLOCK_ERROR_NS:
            self.say(PARTIAL, self.since_ns, "the system's clock was set, and when PyTorch's caching allocator did what "
                     "is known to %.3g ms only" % (error_ns / 1e6))
        else:
            self.say(COMPLETE, lost_until if lost_until is not None else self.since_ns)
        self.mode = mode
        self.known_ns = self.since_ns = begin
        self.say(PARTIAL, begin, "what PyTorch's caching allocator did was not handed over before the process ended")
        self.told_execs, self.told_replays = self.status.execs, self.status.replays
        self.flushes = self.status.flushes
        self.last_end = seconds()
        self.last_cost = self.last_end - begin_s

    def give_up(self, error):
        self.over = True
        try:
            if self.mode in ENTRIES:
                self.history.end()
        except Exception:
            pass
        text = "%s: %s" % (type(error).__name__, str(error).splitlines()[0] if str(error) else "")
        self.say(ABSENT, 0, "PyTorch's caching allocator cannot be followed: " + text[:300])

    def loop(self):
        try:
            while not self.over and not self.stays.acquire(timeout=POLL_S):
                with self.lock:
                    if not self.over:
                        try:
                            self.poll()
                        except Exception as error:
                            self.give_up(error)
        finally:
            self.runs.release()

    # What the job does

    def cuda_ready(self):
        """Inside torch.cuda's initialisation, before the first block exists."""
        if self.over or self.started:
            return
        self.started = True
        self.pid = os.getpid()
        self.begun = self.exec_since = self.last_end = seconds()
        try:
            self.read_status(self.begun)
            with self.lock:
                if self.mode != "theirs":
                    self.switch(self.wanted_mode(self.begun))
            self.stays.acquire()
            self.runs.acquire()
            _thread.start_new_thread(self.loop, ())
            atexit.register(self.finish)
        except Exception as error:
            self.give_up(error)

    def job_records(self, enabled):
        """The job itself switches the history: it is the job's from then on, or nobody's."""
        if self.over or os.getpid() != self.pid:
            return
        with self.lock:
            try:
                if self.mode in ENTRIES:
                    self.read_status(seconds())
                    if self.status.execs:
                        self.look("off")
                    self.history.end()
                self.mode = "theirs" if enabled else "off"
                self.say(ABSENT, now_ns(), "the job records its own memory history" if enabled else
                         "the job switched the memory history off")
            except Exception as error:
                self.give_up(error)

    def finish(self):
        """At the end of the interpreter: a thread that still waits for it while it goes away is ended by force, through
        whatever the thread is in."""
        if os.getpid() != self.pid:
            return
        free = self.lock.acquire(timeout=LONGEST_WAIT_S)
        try:
            if free:
                self.last_look()
        except Exception as error:
            self.give_up(error)
        self.over = True
        self.stays.release()
        if free:
            self.lock.release()
            if self.runs.acquire(timeout=LONGEST_WAIT_S):
                time.sleep(0.001)  # its last instructions

    def last_look(self):
        if self.over or self.mode not in ENTRIES:
            return
        self.read_status(seconds())
        changed = (self.status.execs, self.status.replays) != (self.told_execs, self.told_replays)
        dear = self.last_cost > LONGEST_AT_EXIT_S and self.told_execs == self.status.execs
        if self.status.execs and changed and not dear:
            self.look("off")
        self.history.end()


def follow_allocator(torch, table, loading=()):
    """`loading`: samples of both clocks from before and after the allocator's library was loaded."""
    hook = Hook(torch, table, loading)
    record = hook.history.record

    @functools.wraps(record)
    def _record_memory_history(*args, **kwargs):
        hook.job_records(args[0] if args else kwargs.get("enabled", "all"))
        return record(*args, **kwargs)

    torch.cuda.memory._record_memory_history = _record_memory_history
    torch.cuda._lazy_call(hook.cuda_ready)
    return hook
