# SPDX-License-Identifier: Apache-2.0
"""A runtime written in Python: reports calls through the tool interface, as graphdoctor_runtime.h describes it.

usage: python_runtime_client.py held|released
Begins a capture, lets a synchronise fail with 900 inside it, ends it with 901. Prints "FAIL <file>:<line>", the line
the failing call is reported from, and "END <line>". `held` keeps the GIL in the calls, `released` gives it up.
"""
import ctypes
import os
import sys
import time

u32, u64 = ctypes.c_uint32, ctypes.c_uint64


class Api(ctypes.Structure):
    _fields_ = [("size", u32), ("api", u32), ("correlation", u64), ("device", u32), ("mode", u32), ("stream", u64),
                ("event", u64), ("graph", u64), ("exec", u64), ("ptr", u64), ("bytes", u64)]


class Table(ctypes.Structure):
    _fields_ = [("size", u32), ("version", u32), ("api_enter", ctypes.c_void_p), ("api_exit", ctypes.c_void_p)]


BEGIN_CAPTURE, END_CAPTURE, STREAM_SYNCHRONIZE = 1, 3, 51
STREAM = 7


def attach(held):
    library = ctypes.CDLL(os.environ["GRAPHDOCTOR_TOOL64_PATH"])
    library.graphdoctor_runtime_attach.restype = ctypes.POINTER(Table)
    library.graphdoctor_runtime_attach.argtypes = [u32, ctypes.c_char_p, ctypes.c_int]
    table = library.graphdoctor_runtime_attach(1, b"python client", time.CLOCK_MONOTONIC)
    if not table:
        sys.exit("the tool refused to attach")
    prototype = ctypes.PYFUNCTYPE if held else ctypes.CFUNCTYPE
    enter = prototype(None, ctypes.POINTER(Api))(table.contents.api_enter)
    leave = prototype(None, ctypes.POINTER(Api), ctypes.c_int32)(table.contents.api_exit)
    return enter, leave


class Runtime:
    def __init__(self, held):
        self.enter, self.leave = attach(held)
        self.correlation = 0

    def call(self, api, result):
        self.correlation += 1
        call = Api(size=ctypes.sizeof(Api), api=api, correlation=self.correlation, stream=STREAM)
        self.enter(ctypes.byref(call))
        self.leave(ctypes.byref(call), result)


def synchronize(runtime):
    runtime.call(STREAM_SYNCHRONIZE, 900)


def training_step(runtime):
    print("FAIL %s:%d" % (os.path.abspath(__file__), sys._getframe().f_lineno + 1))
    synchronize(runtime)


def main():
    runtime = Runtime(sys.argv[1] == "held")
    runtime.call(BEGIN_CAPTURE, 0)
    training_step(runtime)
    runtime.call(END_CAPTURE, 901)


main()
