# SPDX-License-Identifier: Apache-2.0
"""Times of PyTorch's memory history while the system's clock is set, with made-up clocks.

usage: clock_test.py FOLDER (of graphdoctor_torch)
"""
import random
import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))

from graphdoctor_torch.clock import KEPT, STEP_NS, TICK_NS, WallClock, has_counter, reading  # noqa: E402

MS, S = 1000000, 1000000000
START, UNIX = 5000 * S, 1700000000 * S


class Made:
    """A system's clock that is set at some times: [(when, by how much)], and what an allocator makes of it."""

    def __init__(self, steps=()):
        self.steps = sorted(steps)

    def offset(self, at_ns):
        return UNIX + sum(by for when, by in self.steps if when <= at_ns)

    def stamped(self, events):
        return [(at + self.offset(at)) // 1000 * 1000 for at in events]

    def fitted(self, events, loaded, looked):
        """One line from the loading of the library to the look."""
        run = looked - loaded
        rise = run + self.offset(looked) - self.offset(loaded)
        return [(loaded + self.offset(loaded) + (at - loaded) * rise // run) // 1000 * 1000 for at in events]

    def sample(self, at):
        return [(at, at + self.offset(at), at)]

    def clock(self, polls, counter=False, loading=()):
        clock = WallClock(counter, [self.sample(at) for at in loading])
        for at in polls:
            clock.note(at, self.offset(at), 0)
        return clock


class Stamped(unittest.TestCase):
    """An entry has what the clock said."""

    POLLS = range(START, START + 2 * S + 1, 50 * MS)
    END = START + 2 * S

    def times(self, made, events):
        return made.clock(self.POLLS).times(made.stamped(events), START, self.END - MS, self.END)

    def near(self, placed, events):
        self.assertEqual(len(placed), len(events))
        for time_ns, event in zip(placed, events):
            self.assertLessEqual(abs(time_ns - event), TICK_NS)

    def test_a_clock_that_is_never_set(self):
        events = [START + MS, START + 2 * MS, START + S]
        placed, error = self.times(Made(), events)
        self.near(placed, events)
        self.assertEqual(error, 0)

    def test_steps_between_polls_that_no_event_is_near(self):
        events = [START + at * MS for at in (1, 100, 1400, 1900)]
        for by in (2 * MS, -2 * MS, 700 * MS, -700 * MS, 3600 * S, -3600 * S):
            placed, error = self.times(Made([(START + 1010 * MS, by)]), events)
            if by > -400 * MS:
                self.assertEqual(error, 0, by)
                self.near(placed, events)
            else:  # what the clock said then it said again later: never earlier than it was, and that is said
                self.assertTrue(all(event - TICK_NS <= time_ns for time_ns, event in zip(placed, events)), by)
                self.assertGreaterEqual(error, max(time_ns - event for time_ns, event in zip(placed, events)) - STEP_NS)

    def test_an_order_that_the_clock_contradicts_shows_where_it_was_set(self):
        step = START + 1010 * MS
        events = list(range(START + 10 * MS, self.END, 3 * MS))
        for by in (-700 * MS, -10 * MS, -3600 * S):
            placed, error = self.times(Made([(step, by)]), events)
            self.near(placed, events)
            self.assertLessEqual(error, STEP_NS)

    def test_a_step_within_a_poll_keeps_the_order(self):
        for by in (2 * MS, -2 * MS, 30 * MS, -30 * MS):
            for before in range(1, 48, 6):
                made = Made([(START + (1000 + before) * MS, by)])
                events = [START + (1000 + at) * MS for at in range(0, 50, 7)]
                placed, error = self.times(made, events)
                self.assertEqual(placed, sorted(placed))
                for time_ns, event in zip(placed, events):
                    self.assertLessEqual(abs(time_ns - event), error + STEP_NS, (by, before))

    def test_many_steps_at_random(self):
        """With a poll between any two: what the clock said only between two polls nobody can know."""
        for seed in range(200):
            chance = random.Random(seed)
            steps = [(START + 50 * MS * at + chance.randrange(50 * MS),
                      chance.choice((-1, 1)) * chance.randrange(STEP_NS * 5, 10 ** chance.randrange(6, 11)))
                     for at in chance.sample(range(40), chance.randrange(1, 5))]
            events = sorted(chance.randrange(START, self.END - MS) for _ in range(chance.randrange(1, 300)))
            placed, error = self.times(Made(steps), events)
            self.assertEqual(placed, sorted(placed), seed)
            self.assertTrue(START <= placed[0] and placed[-1] <= self.END, seed)
            worst = max(abs(time_ns - event) for time_ns, event in zip(placed, events))
            self.assertLessEqual(worst, error + 5 * STEP_NS, seed)

    def test_memory_is_bounded(self):
        made = Made([(START + at * S, (at % 7 - 3) * S or S) for at in range(1, 1000)])
        clock = made.clock(range(START, START + 1000 * S, S // 2))
        self.assertEqual(len(clock.pieces), KEPT)
        end = START + 1000 * S
        events = [end - at * S - S // 3 for at in (30, 20, 10)]
        placed, error = clock.times(made.stamped(events), end - 40 * S, end - MS, end)
        self.assertEqual(placed, sorted(placed))
        for time_ns, event in zip(placed, events):
            self.assertLessEqual(abs(time_ns - event), error + STEP_NS)

    def test_nothing_leaves_the_polls_around(self):
        made = Made()
        clock = made.clock([START, self.END])
        placed, _ = clock.times(made.stamped([START - S, START + S, self.END + S]), START, self.END - MS, self.END)
        self.assertEqual(placed[0], START)
        self.assertEqual(placed[2], self.END)

    def test_an_empty_history(self):
        self.assertEqual(Made().clock([START]).times([], START, START + S, START + S), ([], 0))


class Fitted(unittest.TestCase):
    """Entries lie on one line from the loading of the library to the look."""

    BEFORE, LOADED, AFTER = START, START + 200 * MS, START + 300 * MS
    SINCE, LOOKED, END = START + 5 * S, START + 20 * S, START + 20 * S + 50 * MS

    def times(self, made, events):
        clock = made.clock(range(self.SINCE, self.LOOKED + 1, 50 * MS), True, (self.BEFORE, self.AFTER))
        return clock.times(made.fitted(events, self.LOADED, self.LOOKED), self.SINCE, self.LOOKED, self.END)

    def test_a_clock_that_is_never_set(self):
        events = [self.SINCE + MS, self.SINCE + S]
        placed, error = self.times(Made(), events)
        self.assertEqual(error, 0)
        self.assertEqual([time_ns // 1000 for time_ns in placed], [event // 1000 for event in events])

    def test_steps_bend_the_line(self):
        events = [self.SINCE + at * MS for at in range(1, 14000, 333)]
        for by in (2 * MS, -2 * MS, S, -S, 3600 * S, -3600 * S, 50 * 365 * 86400 * S, -15 * S):
            for when in (START + S, START + 7 * S, START + 19 * S):
                placed, error = self.times(Made([(when, by)]), events)
                self.assertEqual(placed, sorted(placed))
                worst = max(abs(time_ns - event) for time_ns, event in zip(placed, events))
                self.assertLessEqual(worst, error + STEP_NS, (by, when))
                if abs(by) == 2 * MS:
                    self.assertLess(error, MS // 10)
                self.assertLess(error, S)

    def test_a_step_while_the_library_is_loaded(self):
        events = [self.SINCE + at * S for at in range(1, 14)]
        for when in (self.BEFORE + MS, self.AFTER - MS):
            placed, error = self.times(Made([(when, 80 * MS)]), events)
            self.assertLessEqual(max(abs(time_ns - event) for time_ns, event in zip(placed, events)), error + STEP_NS)

    def test_a_step_while_the_snapshot_is_taken_is_said(self):
        made = Made([(self.LOOKED + 20 * MS, 300 * MS)])
        clock = made.clock([self.SINCE, self.LOOKED, self.END], True, (self.BEFORE, self.AFTER))
        _, error = clock.times(made.fitted([self.SINCE + S], self.LOADED, self.LOOKED), self.SINCE, self.LOOKED, self.END)
        self.assertGreaterEqual(error, 300 * MS)

    def test_a_line_without_slope(self):
        """The clock was set back by all that had passed: the history says one time for everything."""
        made = Made([(self.SINCE, self.LOADED - self.LOOKED)])
        clock = made.clock([self.SINCE, self.LOOKED], True, (self.LOADED, self.LOADED))
        placed, error = clock.times(made.fitted([self.SINCE + S] * 3, self.LOADED, self.LOOKED), self.SINCE, self.LOOKED,
                                    self.END)
        self.assertEqual(len(placed), 3)
        self.assertEqual(error, self.END - self.SINCE)

    def test_random_steps(self):
        for seed in range(300):
            chance = random.Random(seed)
            steps = [(chance.randrange(self.AFTER, self.LOOKED),
                      chance.choice((-1, 1)) * chance.randrange(STEP_NS * 5, 10 ** chance.randrange(6, 12)))
                     for _ in range(chance.randrange(1, 5))]
            events = sorted(chance.randrange(self.SINCE, self.LOOKED) for _ in range(40))
            placed, error = self.times(Made(steps), events)
            self.assertEqual(placed, sorted(placed), seed)
            worst = max(abs(time_ns - event) for time_ns, event in zip(placed, events))
            self.assertLessEqual(worst, error + 5 * STEP_NS, seed)


class Readings(unittest.TestCase):
    def test_the_closest_counts(self):
        self.assertEqual(reading([(0, 1000, 900), (2000, 3005, 2010), (4000, 5000, 4800)]), (2005, 1000, 10))

    def test_a_reading_that_was_interrupted_is_no_step(self):
        clock = WallClock(False)
        clock.note(START, UNIX, 100)
        clock.note(START + S, UNIX + 3 * MS, 7 * MS)
        self.assertEqual(len(clock.pieces), 1)
        clock.note(START + 2 * S, UNIX + 3 * MS, 100)
        self.assertEqual(len(clock.pieces), 2)

    def test_which_versions_have_a_counter(self):
        self.assertTrue(has_counter("2.2.0+cu121", "x86_64"))
        self.assertFalse(has_counter("2.11.0", "aarch64"))
        self.assertTrue(has_counter("2.12.0a0+git1234", "aarch64"))
        self.assertFalse(has_counter("2.12", "ppc64le"))
        self.assertFalse(has_counter("", "aarch64"))

    def test_the_real_clocks(self):
        clock = WallClock(False)
        clock.look()
        clock.look()
        self.assertLessEqual(clock.pieces[0][0], clock.pieces[0][1])
        self.assertGreater(clock.pieces[0][2], 0)


if __name__ == "__main__":
    unittest.main()
