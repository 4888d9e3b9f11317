# SPDX-License-Identifier: Apache-2.0
"""The collector's table of functions (graphdoctor_runtime.h), through ctypes."""
import ctypes
import os
import time

LIVE, ALLOCATED, FREE_REQUESTED, FREE_COMPLETED = 1, 2, 3, 4
ABSENT, PARTIAL, COMPLETE = 0, 1, 2

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
