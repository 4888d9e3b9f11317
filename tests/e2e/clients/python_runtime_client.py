# SPDX-License-Identifier: Apache-2.0
"""A runtime written in Python: reports calls through the tool interface, as graphdoctor_runtime.h describes it.

usage: python_runtime_client.py held|released [thread|deep|busy]
Begins a capture, lets a synchronise fail with 900 inside it, ends it with 901. Prints "FAIL <file>:<line>", the line
the failing call is reported from. `held` keeps the GIL in the calls, `released` gives it up. The failing call comes from
  thread  another thread
  deep    below 200 calls
  busy    a thread that other, busy threads surround
"""
import ctypes
import os
import sys
import threading
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
    if isinstance(runtime, Runtime):
        print("FAIL %s:%d" % (os.path.abspath(__file__), sys._getframe().f_lineno + 1))
    synchronize(runtime)


def nested(depth, runtime):
    if depth == 0:
        training_step(runtime)
    else:
        nested(depth - 1, runtime)


def in_thread(runtime):
    worker = threading.Thread(target=training_step, args=(runtime,))
    worker.start()
    worker.join()


def among_busy_threads(runtime):
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            nested(3, Silent())

    spinners = [threading.Thread(target=spin) for _ in range(4)]
    for spinner in spinners:
        spinner.start()
    in_thread(runtime)
    stop.set()
    for spinner in spinners:
        spinner.join()


class Silent:
    def call(self, api, result):
        pass


def main():
    runtime = Runtime(sys.argv[1] == "held")
    way = sys.argv[2] if len(sys.argv) > 2 else ""
    runtime.call(BEGIN_CAPTURE, 0)
    if way == "thread":
        in_thread(runtime)
    elif way == "deep":
        nested(200, runtime)
    elif way == "busy":
        among_busy_threads(runtime)
    else:
        training_step(runtime)
    runtime.call(END_CAPTURE, 901)


main()
