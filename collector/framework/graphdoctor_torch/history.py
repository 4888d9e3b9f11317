# SPDX-License-Identifier: Apache-2.0
"""The allocator's memory history, and what of it the collector is told."""
import bisect
import contextlib
import ctypes
import importlib
import sys
import types

from .table import ALLOCATED, FREE_COMPLETED, FREE_REQUESTED, LIVE, Block, Frame

ENTRIES = {"stacks": 10000, "plain": 20000}  # what the allocator keeps for us
EVENTS = {"alloc": ALLOCATED, "free_requested": FREE_REQUESTED, "free_completed": FREE_COMPLETED}
UNKNOWN_POOL = 2**63 - 1
MAX_FRAMES = 64
MARKER_NS = 100000


class Look:
    """When a snapshot was taken, in CLOCK_MONOTONIC: between begin_ns and end_ns, of a history of at most `limit`
    entries that was empty at cleared_ns. Before known_ns blocks were told; since since_ns nothing else was seen."""

    def __init__(self, limit, known_ns, since_ns, cleared_ns):
        self.limit, self.known_ns, self.since_ns, self.cleared_ns = limit, known_ns, since_ns, cleared_ns
        self.begin_ns = self.end_ns = 0


class NotLoaded(types.ModuleType):
    """torch._inductor as long as nobody wants it."""

    def __getattr__(self, name):
        if name == "codecache":
            raise AttributeError(name)
        return getattr(importlib.import_module("torch._inductor"), name)


@contextlib.contextmanager
def inductor_left_alone(torch):
    """A snapshot with Python lines asks for torch._inductor.codecache, and torch would import that lazily: seconds, and
    modules that the job never asked for (seen with 2.11). Where it is not loaded, the answer is that it has none."""
    name = "_inductor"
    if "torch._inductor" in sys.modules or name in vars(torch):
        yield
        return
    stand_in = vars(torch)[name] = NotLoaded("torch._inductor")
    try:
        yield
    finally:
        if vars(torch).get(name) is stand_in:
            del vars(torch)[name]


class History:
    """The allocator's memory history, over the versions of its interface."""

    def __init__(self, torch):
        self.torch = torch
        self.record = torch.cuda.memory._record_memory_history
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
        take = self.torch._C._cuda_memorySnapshot
        with inductor_left_alone(self.torch):
            try:
                return take(None)  # of all pools
            except TypeError:
                return take()  # before 2.7 or so


class Teller:
    """Hands the allocator's events to the collector."""

    def __init__(self, table, clock):
        self.table = table
        self.clock = clock
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

    def hand_over(self, snapshot, look):
        """Everything in a snapshot. Returns the time up to which events were lost, None when all are there, and by how
        many nanoseconds the times of the others may be wrong."""
        segments = snapshot["segments"]
        self.learn_segments(segments)
        active = self.active_blocks(segments)
        lost_until, error = None, 0
        devices = {device for device, _ in active} | {device for device, _ in self.live}
        for device, trace in enumerate(snapshot.get("device_traces") or []):
            times, unsure = self.clock.times([entry["time_us"] * 1000 for entry in trace], look.cleared_ns, look.begin_ns,
                                             look.end_ns)
            error = max(error, unsure)
            seen_ns = look.since_ns
            if len(trace) >= look.limit and trace:
                seen_ns = times[0]
                lost_until = max(seen_ns, lost_until or 0)
            timed = list(zip(times, trace))
            marker = own_snapshot(timed, look, unsure)
            self.tell_trace(device, timed[:marker])
            self.reconcile(device, active, look.known_ns, seen_ns)
            self.tell_trace(device, timed[marker:])
            devices.discard(device)
        for device in devices:
            self.reconcile(device, active, look.known_ns, look.since_ns)
        return lost_until, error

    def tell_trace(self, device, timed):
        for time_ns, entry in timed:
            event = EVENTS.get(entry["action"])
            if event is None:
                continue
            address = entry["addr"]
            if event == ALLOCATED:
                self.live[device, address] = entry["size"]
            else:
                self.live.pop((device, address), None)
            self.tell(event, time_ns, device, address, entry["size"], entry["stream"], entry.get("frames"))

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


def own_snapshot(timed, look, error):
    """Where in a trace our snapshot stands, if it is an entry itself: what stands before it made the state, what stands
    behind came later. A job takes snapshots too."""
    for at in range(len(timed) - 1, -1, -1):
        time_ns, entry = timed[at]
        if time_ns < look.begin_ns - error - MARKER_NS:
            break
        if entry["action"] == "snapshot":
            return at
    return len(timed)
