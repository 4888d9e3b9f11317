# SPDX-License-Identifier: Apache-2.0
"""Python frames as the collector sees them, under the interpreter that runs this file.

usage: python_frames.py PROBE_LIBRARY
"""
import ctypes
import inspect
import sys
import threading
import time

AUTO, PUBLIC = 0, 1
held = ctypes.PyDLL(sys.argv[1])  # keeps the GIL during the call
released = ctypes.CDLL(sys.argv[1])  # gives it up


def take(library, way=AUTO, most=64):
    room = ctypes.create_string_buffer(200000)
    count = library.gdProbePythonFrames(way, most, room, len(room))
    frames = [line.split("|") for line in room.value.decode("utf-8").splitlines()]
    assert count == len(frames), (count, frames)
    return frames


def here():
    """This thread's frames below the caller, as Python itself says."""
    frame = inspect.currentframe().f_back
    frames = []
    while frame is not None:
        frames.append([frame.f_code.co_filename, frame.f_code.co_name, str(frame.f_lineno)])
        frame = frame.f_back
    return frames


def check(library, way, name):
    seen, expected = take(library, way), here()
    assert seen[0][1] == "take", (name, seen)
    assert seen[1:] == expected, "%s\n  seen     %s\n  expected %s" % (name, seen[1:], expected)


class Layer:
    def forward(self, depth, library, way, name):
        if depth > 0:
            return self.forward(depth - 1, library, way, name)
        return check(library, way, name)


def generator(library, way, name):
    check(library, way, name)
    yield 1


def compare(a, b):
    check(released, AUTO, "inside a C function that calls back")
    return a - b


def main():
    for library, state in ((held, "GIL held"), (released, "GIL released")):
        check(library, AUTO, state)
        Layer().forward(10, library, AUTO, state + ", nested")
        list(generator(library, AUTO, state + ", generator"))
        (lambda: check(library, AUTO, state + ", lambda"))()
    if sys.version_info >= (3, 9):
        check(held, PUBLIC, "public interface")
        Layer().forward(5, held, PUBLIC, "public interface, nested")
        assert take(released, PUBLIC) == [], "the public interface must not be used without the GIL"
    import functools
    sorted([2, 1], key=functools.cmp_to_key(compare))

    # A file and a function whose names are not ASCII, and one beyond the Basic Multilingual Plane.
    for name, function in (("/tmp/\u00fc.py", "gr\u00f6\u00dfe"), ("/tmp/\u4e16\U0001f600.py", "\u4e16")):
        scope = {"take": take, "released": released}
        exec(compile("def %s():\n    return take(released)\nframes = %s()\n" % (function, function), name, "exec"),
             scope)
        seen = scope["frames"][1]
        escaped = [text.encode("ascii", "backslashreplace").decode() for text in (name, function)]
        assert seen[:2] in ([name, function], escaped), seen
        assert seen[2] == "2", seen

    assert len(take(released, AUTO, 3)) <= 3

    def recurse(depth):
        return take(released) if depth == 0 else recurse(depth - 1)
    deep = recurse(200)
    assert len(deep) == 64 and all(frame[1] == "recurse" for frame in deep[1:]), deep[:3]

    # An exception on its way is neither lost nor replaced.
    try:
        raise ValueError("kept")
    except ValueError as error:
        check(held, AUTO, "while handling an exception")
        assert str(error) == "kept" and sys.exc_info()[0] is ValueError

    # Many threads, some of them busy, none of them disturbed.
    failures = []
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            sum(range(100))

    def worker():
        try:
            for _ in range(200):
                Layer().forward(3, released, AUTO, "thread")
                Layer().forward(3, held, AUTO, "thread")
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)
    spinner = threading.Thread(target=spin)
    workers = [threading.Thread(target=worker) for _ in range(4)]
    for thread in [spinner] + workers:
        thread.start()
    for thread in workers:
        thread.join()
    stop.set()
    spinner.join()
    assert not failures, failures[0]

    rounds = 500
    start = time.perf_counter()
    for _ in range(rounds):
        recurse_few(8)
    print("%s: %.1f us a stack of %d frames" % (sys.version.split()[0],
                                                 (time.perf_counter() - start) / rounds * 1e6,
                                                 len(recurse_few(8))))


def recurse_few(depth):
    return take(released) if depth == 0 else recurse_few(depth - 1)


main()
