# SPDX-License-Identifier: Apache-2.0
"""From the times in PyTorch's memory history to CLOCK_MONOTONIC.

The history has Unix times. Where the allocator has a counter of the processor (x86; aarch64 from PyTorch 2.12 on), it
notes ticks and fits one line through two readings of the system's clock at every snapshot: one from when its library
was loaded, one from the snapshot (c10/util/ApproximateClock.cpp). A clock that is set in between bends the line: every
time is off, the more the later it is. Elsewhere an entry has what the system's clock said when it happened.

CLOCK_MONOTONIC is never set. So it is noted what the system's clock said at which of its times.
"""
import os
import time

from .table import now_ns

STEP_NS = 20000  # two readings that differ by more: the clock was set
TICK_NS = 1000  # the history's own resolution
KEPT = 64  # times between two settings of the clock


def reading(samples):
    """(CLOCK_MONOTONIC, Unix time minus that, how far off at most) from (monotonic, unix, monotonic) triples."""
    before, unix, after = min(samples, key=lambda sample: sample[2] - sample[0])
    middle = (before + after) // 2
    return middle, unix - middle, after - before


def sample():
    return now_ns(), time.time_ns(), now_ns()


def has_counter(version, machine):
    """Whether the allocator of this version notes the processor's ticks."""
    if machine in ("x86_64", "i686", "i586"):
        return True
    numbers = []
    for part in version.split(".")[:2]:
        digits = "".join(letter for letter in part if letter.isdigit())
        numbers.append(int(digits or 0))
    return machine == "aarch64" and numbers >= [2, 12]


class WallClock:
    """What the system's clock said. Pieces are [first, last, offset]: from the first to the last of these times of
    CLOCK_MONOTONIC it was ahead by `offset` at every look; in the order of time, at most KEPT."""

    def __init__(self, counter, loading=()):
        """`loading`: two lists of samples, from before and after the allocator's library was loaded."""
        self.counter = counter
        self.loaded = [reading(samples) for samples in loading]
        self.pieces = []

    @staticmethod
    def of(torch, loading):
        return WallClock(has_counter(str(getattr(torch, "__version__", "")), os.uname().machine), loading)

    def look(self):
        """At every poll, and before and after every snapshot."""
        self.note(*reading([sample() for _ in range(4)]))

    def note(self, at_ns, offset, error):
        if self.pieces and abs(self.pieces[-1][2] - offset) <= max(STEP_NS, error):
            self.pieces[-1][1] = at_ns
            return
        self.pieces.append([at_ns, at_ns, offset])
        del self.pieces[:-KEPT]

    def offset_at(self, at_ns):
        known = [piece for piece in self.pieces if piece[0] <= at_ns] or self.pieces[:1]
        return known[-1][2]

    def times(self, unix_ns, since_ns, begin_ns, end_ns):
        """CLOCK_MONOTONIC of the entries of a history that has been kept since the first time and was read between
        the other two, and by how much they may be wrong. `unix_ns` are its times, in its order, which is the order
        in which things happened: the result never goes back, and never leaves what the polls around allow."""
        if not unix_ns:
            return [], 0
        if self.counter and self.loaded:
            placed, error = self.on_lines(unix_ns, begin_ns, end_ns)
        else:
            placed, error = self.in_pieces(unix_ns, since_ns, end_ns)
        latest = since_ns
        for at, time_ns in enumerate(placed):
            latest = placed[at] = max(latest, min(time_ns, end_ns))
        return placed, min(error, end_ns - since_ns)

    # Entries that are on one line

    def on_lines(self, unix_ns, begin_ns, end_ns):
        """The line begins somewhere between the two readings at the library's loading."""
        offset = self.offset_at(begin_ns)
        unsure = abs(self.offset_at(end_ns) - offset)  # set while the snapshot was taken
        if all(abs(known[1] - offset) <= max(STEP_NS, known[2]) for known in self.loaded):
            return [unix - offset for unix in unix_ns], unsure
        offsets = {known for _, known, _ in self.loaded}
        lines = [(at, at + known, begin_ns - at, begin_ns + offset - at - known)
                 for at, _, _ in self.loaded for known in offsets]
        if any(rise == 0 for _, _, _, rise in lines):
            return [begin_ns] * len(unix_ns), end_ns  # the history says the same time for everything
        placed, apart = [], 0
        for unix in unix_ns:
            possible = [at + (unix - there) * run // rise for at, there, run, rise in lines]
            placed.append((min(possible) + max(possible)) // 2)
            apart = max(apart, max(possible) - min(possible))
        tick = max(TICK_NS * abs(run) // abs(rise) for _, _, run, rise in lines)
        return placed, unsure + apart // 2 + tick

    # Entries that have what the clock said

    def in_pieces(self, unix_ns, since_ns, end_ns):
        """Each with the offset of the piece in which it can have happened. Where several could be, the latest: a block
        must not seem to be gone before it was. How much earlier it can have been is what it may be wrong by."""
        spans = self.spans(since_ns, end_ns)
        if len(spans) < 2:
            offset = spans[0][2] if spans else self.offset_at(end_ns)
            return [unix - offset for unix in unix_ns], 0
        latest = self.walk(unix_ns[::-1], spans[::-1], end_ns, -1)[::-1]
        earliest = self.walk(unix_ns, spans, since_ns, 1)
        return latest, max(abs(late - early) for late, early in zip(latest, earliest))

    def spans(self, since_ns, end_ns):
        """(from, to, offset) of the pieces that meet an interval: from the last look with another offset before to
        the first one after."""
        found = []
        for at, piece in enumerate(self.pieces):
            begin = self.pieces[at - 1][1] if at else min(since_ns, piece[0])
            end = self.pieces[at + 1][0] if at + 1 < len(self.pieces) else max(end_ns, piece[1])
            if end >= since_ns and begin <= end_ns:
                found.append((max(begin, since_ns), min(end, end_ns), piece[2]))
        return found

    @staticmethod
    def walk(unix_ns, spans, bound, way):
        """Through the entries in this direction (-1: from the last), each as far towards `bound` as it can be without
        passing the one before it or a span that was left."""
        placed, at = [], 0
        for unix in unix_ns:
            best = None
            for index in range(at, len(spans)):
                begin, end, offset = spans[index]
                time_ns = unix - offset
                inside = begin - STEP_NS <= time_ns <= end + STEP_NS and (time_ns - bound) * way >= -STEP_NS
                if inside and (best is None or (time_ns - best[0]) * way < 0):
                    best = time_ns, index
            if best is not None:
                bound, at = best
            placed.append(bound)
        return placed
