# SPDX-License-Identifier: Apache-2.0
"""Follows PyTorch's caching allocator, and gives way to PyTorch's profiler. Loaded by sitecustomize after `torch`.

The allocator frees a block into its cache and hands it out again without any CUDA call. Its memory history
(torch.cuda.memory._record_memory_history, _snapshot; PyTorch 2.1 and newer) shows both, with the Python lines.

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
import bisect
import ctypes
import functools
import os
import time

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
ENTRIES = {"stacks": 10000, "plain": 20000}  # what the allocator keeps for us

LIVE, ALLOCATED, FREE_REQUESTED, FREE_COMPLETED = 1, 2, 3, 4
EVENTS = {"alloc": ALLOCATED, "free_requested": FREE_REQUESTED, "free_completed": FREE_COMPLETED}
ABSENT, PARTIAL, COMPLETE = 0, 1, 2
UNKNOWN_POOL = 2**63 - 1
MAX_FRAMES = 64

u32, u64, i64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64


class Frame(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("function", ctypes.c_char_p), ("line", u32), ("reserved", u32)]


class Block(ctypes.Structure):
    _fields_ = [("size", u32), ("event", u32), ("time_ns", i64), ("ptr", u64), ("bytes", u64), ("stream", u64),
                ("pool", u64), ("device", u32), ("frame_count", u32), ("frames", ctypes.POINTER(Frame))]


class Status(ctypes.Structure):
    _fields_ = [("size", u32), ("level", u32), ("window", u32), ("open_captures", u32), ("open_steps", u32),
                ("flushes", u32), ("execs", u64), ("replays", u64)]


class Table(ctypes.Structure):
    """gd_rt_table of graphdoctor_runtime.h: 18 entries that are not used here, then those for frameworks."""
    _fields_ = [("size", u32), ("version", u32), ("others", ctypes.c_void_p * 18),
                ("block", ctypes.CFUNCTYPE(None, ctypes.POINTER(Block))),
                ("block_coverage", ctypes.CFUNCTYPE(None, ctypes.c_int, i64, ctypes.c_char_p)),
                ("status", ctypes.CFUNCTYPE(None, ctypes.POINTER(Status))),
                ("other_profiler", ctypes.CFUNCTYPE(u32, u32))]


def attach():
    """The collector's table, None when this process is not recorded."""
    path = os.environ.get("GRAPHDOCTOR_TOOL64_PATH")
    if not path:
        return None
    library = ctypes.CDLL(path)
    library.graphdoctor_runtime_attach.restype = ctypes.POINTER(Table)
    library.graphdoctor_runtime_attach.argtypes = [u32, ctypes.c_char_p, ctypes.c_int]
    found = library.graphdoctor_runtime_attach(1, None, time.CLOCK_MONOTONIC)
    return found.contents if found and found.contents.size >= ctypes.sizeof(Table) else None


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def seconds():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class History:
    """The allocator's memory history, over the versions of its interface."""

    def __init__(self, torch):
        self.memory = torch.cuda.memory
        self.record = self.memory._record_memory_history
        self.is_on = getattr(torch._C, "_cuda_isHistoryEnabled", None)
        self.can_clear = True

    def enabled(self):
        """None when this version does not tell. Only once CUDA is initialised: 2.11 crashes before."""
        return bool(self.is_on()) if self.is_on is not None else None

    def begin(self, mode):
        """From now on, with nothing from before."""
        wanted = {"enabled": "all", "context": "all" if mode == "stacks" else None, "stacks": "python",
                  "max_entries": ENTRIES[mode]}
        if self.can_clear:
            try:
                self.record(clear_history=True, **wanted)
                return
            except TypeError:  # an older interface
                self.can_clear = False
        self.record(None)
        self.record(**wanted)

    def end(self):
        self.record(None)

    def snapshot(self):
        return self.memory._snapshot()


class Teller:
    """Hands the allocator's events to the collector."""

    def __init__(self, table):
        self.table = table
        self.live = {}  # (device, address) of blocks told and not freed
        self.segments = []  # (address, end, pool), sorted
        self.stacks = {}
        self.block = Block(size=ctypes.sizeof(Block))

    def tell(self, event, time_ns, device, address, size, stream, frames):
        block = self.block
        block.event, block.time_ns, block.device = event, time_ns, device
        block.ptr, block.bytes, block.stream = address, size, stream
        block.pool = self.pool_of(address)
        block.frames, block.frame_count = self.frames(frames)
        self.table.block(ctypes.byref(block))

    def frames(self, frames):
        if not frames:
            return None, 0
        key = tuple((frame.get("filename"), frame.get("line"), frame.get("name")) for frame in frames[:MAX_FRAMES])
        known = self.stacks.get(key)
        if known is None:
            if len(self.stacks) > 20000:
                self.stacks.clear()
            array = (Frame * len(key))()
            for place, (file, line, name) in zip(array, key):
                place.file = (file or "").encode("utf-8", "replace")
                place.function = (name or "").encode("utf-8", "replace")
                place.line = line if isinstance(line, int) and 0 < line < 2**31 else 0
            known = self.stacks[key] = (ctypes.cast(array, ctypes.POINTER(Frame)), len(key), array)
        return known[0], known[1]

    def pool_of(self, address):
        at = bisect.bisect_right(self.segments, (address, 2**64, 0)) - 1
        if at >= 0 and address < self.segments[at][1]:
            return self.segments[at][2]
        return UNKNOWN_POOL

    def learn_segments(self, segments):
        known = {segment[0]: segment for segment in self.segments}
        for segment in segments:
            first, second = segment.get("segment_pool_id") or (0, 0)
            begin = segment["address"]
            known[begin] = (begin, begin + segment["total_size"], (first << 32 | second) & UNKNOWN_POOL)
        self.segments = sorted(known.values())

    @staticmethod
    def active_blocks(segments):
        """(device, address) -> (size, stream, frames) of the blocks somebody uses."""
        found = {}
        for segment in segments:
            address = segment["address"]
            for block in segment["blocks"]:
                address = block.get("address", address)
                if block["state"] == "active_allocated":
                    found[segment["device"], address] = (block["size"], segment.get("stream", 0),
                                                         block.get("frames") or frames_of_history(block))
                address += block["size"]
        return found

    def hand_over(self, snapshot, begin_ns, end_ns, known_ns, since_ns, limit):
        """Everything in a snapshot taken between two times. Before `known_ns` blocks were told, from `since_ns` on the
        history was on. Returns the time up to which events were lost, None when all are there."""
        segments = snapshot["segments"]
        self.learn_segments(segments)
        active = self.active_blocks(segments)
        lost_until = None
        devices = {device for device, _ in active} | {device for device, _ in self.live}
        for device, trace in enumerate(snapshot.get("device_traces") or []):
            offset = offset_of(trace, begin_ns, end_ns)
            seen_ns = since_ns
            if len(trace) >= limit and trace:
                seen_ns = trace[0]["time_us"] * 1000 - offset
                lost_until = max(seen_ns, lost_until or 0)
            # The snapshot itself is an entry: what stands before it made the state, what stands behind came later.
            marker = max((i for i, entry in enumerate(trace) if entry["action"] == "snapshot"), default=len(trace))
            self.tell_trace(device, trace[:marker], offset)
            self.reconcile(device, active, known_ns, seen_ns)
            self.tell_trace(device, trace[marker:], offset)
            devices.discard(device)
        for device in devices:
            self.reconcile(device, active, known_ns, since_ns)
        return lost_until

    def tell_trace(self, device, trace, offset):
        for entry in trace:
            event = EVENTS.get(entry["action"])
            if event is None:
                continue
            address = entry["addr"]
            if event == ALLOCATED:
                self.live[device, address] = entry["size"]
            else:
                self.live.pop((device, address), None)
            self.tell(event, entry["time_us"] * 1000 - offset, device, address, entry["size"], entry["stream"],
                      entry.get("frames"))

    def reconcile(self, device, active, known_ns, seen_ns):
        """What happened between the two times shows in what is in use now."""
        for key in [key for key in self.live if key[0] == device and key not in active]:
            self.tell(FREE_COMPLETED, seen_ns, device, key[1], self.live.pop(key), 0, None)
        for key, (size, stream, frames) in active.items():
            if key[0] == device and key not in self.live:
                self.live[key] = size
                self.tell(LIVE, known_ns, device, key[1], size, stream, frames)


def frames_of_history(block):
    """PyTorch before 2.2 keeps them one level deeper."""
    history = block.get("history") or [{}]
    return history[0].get("frames")


def offset_of(trace, begin_ns, end_ns):
    """What to take from the trace's clock (Unix time, from the processor's counter) for CLOCK_MONOTONIC. The entry of
    the snapshot, taken between the two times, shows where the system's clock was set since the counter was fitted."""
    offset = time.time_ns() - now_ns()
    for entry in reversed(trace):
        if entry["action"] == "snapshot":
            seen = entry["time_us"] * 1000 - offset
            slack = 1000000
            if seen < begin_ns - slack:
                offset -= begin_ns - seen
            elif seen > end_ns + slack:
                offset += seen - end_ns
            break
    return offset


class Hook:
    """What follows the allocator of this process."""

    def __init__(self, torch, table):
        self.torch = torch
        self.table = table
        self.history = History(torch)
        self.lock = _thread.allocate_lock()
        self.pid = os.getpid()
        self.mode = "off"  # stacks, plain, off, theirs
        self.started = self.over = False
        self.teller = Teller(table)
        self.begun = seconds()
        self.stacks_used = 0.0
        self.status = Status(size=ctypes.sizeof(Status))
        self.told_execs = self.told_replays = self.flushes = 0
        self.seen_execs = self.exec_replays = 0
        self.exec_since = self.begun
        self.last_end = self.begun
        self.last_cost = 0.0
        self.known_ns = self.since_ns = now_ns()
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
        self.history.begin(mode)
        self.mode = mode
        self.since_ns = now
        self.say(PARTIAL, now, "what PyTorch's caching allocator did was not handed over before the process ended")

    def look(self, mode):
        """Takes a snapshot, hands over what is new and goes on in `mode`."""
        begin, begin_s = now_ns(), seconds()
        limit = ENTRIES[self.mode]
        snapshot = self.history.snapshot()
        end = now_ns()
        if mode in ENTRIES:
            self.history.begin(mode)
        lost_until = self.teller.hand_over(snapshot, begin, end, self.known_ns, self.since_ns, limit)
        if lost_until is not None:
            self.say(PARTIAL, self.since_ns, "PyTorch's caching allocator did more than its history holds")
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
        while not self.over and os.getpid() == self.pid:
            time.sleep(POLL_S)
            with self.lock:
                if not self.over:
                    try:
                        self.poll()
                    except Exception as error:
                        self.give_up(error)

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
        """At the end of the interpreter."""
        if self.over or os.getpid() != self.pid or not self.lock.acquire(timeout=2):
            return
        try:
            self.over = True
            if self.mode not in ENTRIES:
                return
            self.read_status(seconds())
            changed = (self.status.execs, self.status.replays) != (self.told_execs, self.told_replays)
            dear = self.last_cost > LONGEST_AT_EXIT_S and self.told_execs == self.status.execs
            if self.status.execs and changed and not dear:
                self.look("off")
                self.history.end()
        except Exception as error:
            self.give_up(error)
        finally:
            self.lock.release()


def follow_allocator(torch, table):
    hook = Hook(torch, table)
    record = hook.history.record

    @functools.wraps(record)
    def _record_memory_history(*args, **kwargs):
        hook.job_records(args[0] if args else kwargs.get("enabled", "all"))
        return record(*args, **kwargs)

    torch.cuda.memory._record_memory_history = _record_memory_history
    torch.cuda._lazy_call(hook.cuda_ready)
    return hook


def yield_to_profiler(torch, table):
    """CUPTI has room for one subscriber: while PyTorch's profiler wants the device, it is PyTorch's."""
    module = torch.autograd.profiler
    cuda = torch.autograd.ProfilerActivity.CUDA
    prepare, enable, disable = module._prepare_profiler, module._enable_profiler, module._disable_profiler
    state = {"active": False}

    def begins(activities):
        if cuda in activities and not state["active"]:
            state["active"] = True
            table.other_profiler(1)

    def ends():
        if state["active"]:
            state["active"] = False
            table.other_profiler(0)

    @functools.wraps(prepare)
    def _prepare_profiler(config, activities, *args, **kwargs):
        begins(activities)
        return prepare(config, activities, *args, **kwargs)

    @functools.wraps(enable)
    def _enable_profiler(config, activities, *args, **kwargs):
        begins(activities)
        try:
            return enable(config, activities, *args, **kwargs)
        except BaseException:
            ends()
            raise

    @functools.wraps(disable)
    def _disable_profiler(*args, **kwargs):
        try:
            return disable(*args, **kwargs)
        finally:
            ends()

    module._prepare_profiler = _prepare_profiler
    module._enable_profiler = _enable_profiler
    module._disable_profiler = _disable_profiler


def start(torch):
    table = attach()
    if table is None:
        return None
    if os.environ.get("GRAPHDOCTOR_WITH_PROFILER") == "yield":
        try:
            yield_to_profiler(torch, table)
        except AttributeError:
            pass  # a version without Kineto, or with other names: the two meet as without us
    if os.environ.get("GRAPHDOCTOR_FRAMEWORK_HOOKS") == "auto":
        return follow_allocator(torch, table)
    return None
