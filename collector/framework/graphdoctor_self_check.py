# SPDX-License-Identifier: Apache-2.0
"""The Python parts of `graphdoctor run --self-check`.

usage: graphdoctor_self_check.py stacks|allocator|nccl
Prints one line: "ran", "absent" or "failed", what, and what to do, separated by tabs; `nccl`: the path of the library
that a wheel brought.
"""
import ctypes
import glob
import importlib.util
import os
import platform
import sys
import time

CALLS = 20
BEGIN_CAPTURE, END_CAPTURE = 1, 3


def say(kind, detail, remedy=""):
    print("\t".join((kind, detail, remedy)))


def attach():
    path = os.environ.get("GRAPHDOCTOR_TOOL64_PATH")
    library = ctypes.CDLL(path) if path else None
    if library is None:
        return None
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64

    class Api(ctypes.Structure):
        _fields_ = [("size", u32), ("api", u32), ("correlation", u64), ("device", u32), ("mode", u32), ("stream", u64),
                    ("event", u64), ("graph", u64), ("exec", u64), ("ptr", u64), ("bytes", u64)]

    class Table(ctypes.Structure):
        _fields_ = [("size", u32), ("version", u32), ("enter", ctypes.CFUNCTYPE(None, ctypes.POINTER(Api))),
                    ("exit", ctypes.CFUNCTYPE(None, ctypes.POINTER(Api), ctypes.c_int32))]

    library.graphdoctor_runtime_attach.restype = ctypes.POINTER(Table)
    library.graphdoctor_runtime_attach.argtypes = [u32, ctypes.c_char_p, ctypes.c_int]
    table = library.graphdoctor_runtime_attach(1, b"self-check", time.CLOCK_MONOTONIC)
    if not table:
        return None

    def call(api, number):
        what = Api(size=ctypes.sizeof(Api), api=api, correlation=number, stream=7)
        table.contents.enter(ctypes.byref(what))
        table.contents.exit(ctypes.byref(what), 0)

    return call


def capture(call, number):
    """Both ends of a capture are recorded with their stacks."""
    call(BEGIN_CAPTURE, 2 * number)
    call(END_CAPTURE, 2 * number + 1)


def stacks():
    call = attach()
    if call is None:
        return say("failed", "the collector library refused to attach", "check that this installation is whole")
    for number in range(1, CALLS + 1):
        capture(call, number)
    return say("ran", "%s %s, %s" % (platform.python_implementation(), platform.python_version(), sys.executable))


def allocator():
    if importlib.util.find_spec("torch") is None:
        return say("absent", "PyTorch is not installed for " + sys.executable,
                   "name the Python that has it: graphdoctor run --self-check -- PYTHON")
    if not glob.glob("/dev/nvidia[0-9]*"):
        return say("absent", "PyTorch is here, a GPU is not", "run it where there is a GPU")
    import torch

    if not torch.cuda.is_available():
        return say("absent", "PyTorch %s sees no GPU" % torch.__version__, "see CUDA_VISIBLE_DEVICES and torch.version.cuda")
    source = torch.ones(1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = source * 2
    for _ in range(CALLS):
        graph.replay()
    torch.cuda.synchronize()
    del result
    return say("ran", "PyTorch %s" % torch.__version__)


def nccl():
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(glob.glob(os.path.join(folder, "nccl", "lib", "libnccl.so.2"))):
            return print(path)
    return print("")


{"stacks": stacks, "allocator": allocator, "nccl": nccl}[sys.argv[1]]()
