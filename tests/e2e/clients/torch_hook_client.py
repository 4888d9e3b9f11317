# SPDX-License-Identifier: Apache-2.0
"""A job for GraphDoctor's PyTorch hook that runs without a GPU: the stand-in for torch gives blocks of a caching
allocator, and the graph whose node points into one is reported through the tool interface.

usage: torch_hook_client.py freed|forward|back|snapshots|healthy|exit|kill|late|busy|overflow|own|threads|plain
  freed     the block is freed and handed out again before the last launches
  forward, back  as freed, and the system's clock is set on by two seconds, or back by a quarter of what has passed, before that
  snapshots as freed, with a snapshot of its own between the launches
  healthy   the block stays
  exit      as freed, then waits for a look of the hook's and ends by _exit(0)
  kill      as freed, then waits for a look of the hook's and ends by SIGKILL
  late      as freed, then waits until a look of the hook's has begun and ends
  busy      as freed, inside one long step, then launches, after a while says so, and ends by _exit(0) when a line
            comes in
  overflow  as healthy, with more allocations than the history holds
  own       records and reads a memory history of its own
  threads   as healthy, and waits until no thread is left at the end of the interpreter
  plain     prints what the interpreter looks like
"""
import ctypes
import os
import select
import signal
import sys
import time

u16, u32, u64, i32, i64 = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32, ctypes.c_int64
GRAPH, EXEC, NODE, STREAM = 11, 12, 13, 7
GRAPH_INSTANTIATE, GRAPH_LAUNCH = 120, 130


class Api(ctypes.Structure):
    _fields_ = [("size", u32), ("api", u32), ("correlation", u64), ("device", u32), ("mode", u32), ("stream", u64),
                ("event", u64), ("graph", u64), ("exec", u64), ("ptr", u64), ("bytes", u64)]


class Graph(ctypes.Structure):
    _fields_ = [("size", u32), ("reserved", u32), ("graph", u64), ("origin_graph", u64)]


class Node(ctypes.Structure):
    _fields_ = [("size", u32), ("type", u32), ("graph", u64), ("node", u64), ("origin_node", u64),
                ("parent_node", u64), ("stream", u64)]


class Exec(ctypes.Structure):
    _fields_ = [("size", u32), ("flags", u32), ("exec", u64), ("graph", u64), ("result", i32), ("update_result", u32)]


class Param(ctypes.Structure):
    _fields_ = [("offset", u32), ("bytes", u32)]


class NodeParams(ctypes.Structure):
    _fields_ = [("size", u32), ("type", u32), ("node", u64), ("function", ctypes.c_char_p), ("grid", u32 * 3),
                ("block", u32 * 3), ("shared_bytes", u32), ("param_count", u32), ("params", ctypes.POINTER(Param)),
                ("param_data", ctypes.c_void_p), ("param_data_bytes", u64), ("dst", u64), ("src", u64), ("bytes", u64),
                ("value", u32), ("copy_kind", u32), ("comm_op", u64)]


class Memory(ctypes.Structure):
    _fields_ = [("size", u32), ("kind", u32), ("device", u32), ("reserved", u32), ("ptr", u64), ("bytes", u64),
                ("pool", u64), ("stream", u64)]


class Range(ctypes.Structure):
    _fields_ = [("size", u32), ("op", u32), ("domain", ctypes.c_char_p), ("name", ctypes.c_char_p), ("u64", u64)]


class Runtime:
    """Reports to the collector what a runtime would; does nothing when nobody listens."""

    FIELDS = ["api_enter", "api_exit", "device", "context", "stream", "event", "graph", "node", "edge", "exec",
              "node_params", "alloc", "free", "activity", "comm", "comm_op", "range"]

    def __init__(self):
        self.table = None
        path = os.environ.get("GRAPHDOCTOR_TOOL64_PATH")
        if path:
            attach = ctypes.CDLL(path).graphdoctor_runtime_attach
            attach.restype = ctypes.POINTER(ctypes.c_void_p)
            attach.argtypes = [u32, ctypes.c_char_p, ctypes.c_int]
            self.table = attach(1, b"stand-in", time.CLOCK_MONOTONIC)
        self.correlation = 0

    def tell(self, name, *arguments):
        if self.table:
            values = [ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments]
            types = [ctypes.c_void_p if isinstance(a, ctypes.Structure) else i32 for a in arguments]
            address = self.table[1 + self.FIELDS.index(name)]
            ctypes.CFUNCTYPE(None, *types)(address)(*values)

    def call(self, api, inside=None, **fields):
        self.correlation += 1
        call = Api(size=ctypes.sizeof(Api), api=api, correlation=self.correlation, stream=STREAM, **fields)
        self.tell("api_enter", call)
        if inside:
            inside()
        self.tell("api_exit", call, 0)

    def segment(self, address, size):
        self.tell("alloc", Memory(size=ctypes.sizeof(Memory), kind=1, ptr=address, bytes=size))

    def graph(self, pointer):
        """A graph of one kernel whose third parameter is `pointer`, and an executable of it."""
        self.tell("graph", 1, Graph(size=ctypes.sizeof(Graph), graph=GRAPH))
        self.tell("node", 1, Node(size=ctypes.sizeof(Node), graph=GRAPH, node=NODE))
        words = (u64 * 3)(1, 2, pointer)
        layout = (Param * 3)(*[(8 * i, 8) for i in range(3)])
        self.tell("node_params", NodeParams(size=ctypes.sizeof(NodeParams), node=NODE, function=b"residual_add",
                                            param_count=3, params=layout, param_data_bytes=24,
                                            param_data=ctypes.cast(words, ctypes.c_void_p)))
        made = Exec(size=ctypes.sizeof(Exec), exec=EXEC, graph=GRAPH)
        self.call(GRAPH_INSTANTIATE, lambda: self.tell("exec", 1, made), graph=GRAPH, exec=EXEC)

    def launch(self):
        self.call(GRAPH_LAUNCH, exec=EXEC)

    def begin_step(self):
        self.tell("range", Range(size=ctypes.sizeof(Range), op=1, name=b"step"))


def load_batch(torch):
    return torch.cuda.tensor(1 << 16)


def let_go(torch, block):
    torch.cuda.drop(block)


def hook_of(torch):
    """What follows the allocator of this process; None where nothing does."""
    cells = getattr(torch.cuda.memory._record_memory_history, "__closure__", None) or ()
    return next((cell.cell_contents for cell in cells if type(cell.cell_contents).__name__ == "Hook"), None)


def wait_for_a_look(torch, launches):
    """Until everything up to this launch has been handed over."""
    hook = hook_of(torch)
    while hook and hook.told_replays < launches:
        time.sleep(0.01)
    if hook:
        with hook.lock:
            pass


def wait_for_the_beginning_of_a_look(torch):
    hook = hook_of(torch)
    while hook and not torch.cuda.memory.looks:
        time.sleep(0.01)


def launch_until_a_line_comes(runtime):
    launches = 0
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        runtime.launch()
        launches += 1
        if launches == 60:
            print("ready", flush=True)


def set_clock(by_ns):
    clock = time.time_ns
    time.time_ns = lambda: clock() + by_ns


def stay_apart(by_ns):
    """Events that are so far apart keep their order however much of it the import may hide."""
    until = time.monotonic_ns() + by_ns
    while time.monotonic_ns() < until:
        time.sleep(0.001)


def job(case):
    begin = time.monotonic_ns()
    import torch

    apart = time.monotonic_ns() - begin if case in ("forward", "back") else 0
    runtime = Runtime()
    if case == "busy":
        runtime.begin_step()
    runtime.segment(torch.cuda.memory.SEGMENT, torch.cuda.memory.BYTES)
    torch.cuda.tensor(1 << 20)
    static = load_batch(torch)
    stay_apart(apart)
    runtime.graph(static + 64)
    runtime.launch()
    stay_apart(apart)
    if case == "overflow":
        for _ in range(12000):
            torch.cuda.drop(torch.cuda.tensor(4096))
    if case in ("forward", "back"):
        set_clock(2000000000 if case == "forward" else (begin - time.monotonic_ns()) // 4)
    if case == "snapshots":
        torch.cuda.memory._snapshot()
        stay_apart(100000000)
    if case not in ("healthy", "overflow"):
        let_go(torch, static)
        load_batch(torch)
    stay_apart(apart)
    for _ in range(3):
        runtime.launch()
    if case == "busy":
        launch_until_a_line_comes(runtime)
    elif case in ("exit", "kill"):
        wait_for_a_look(torch, 4)
    elif case == "late":
        wait_for_the_beginning_of_a_look(torch)
    if case in ("exit", "busy"):
        os._exit(0)
    elif case == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


def own_history():
    import torch

    torch.cuda.tensor(4096)
    torch.cuda.memory._record_memory_history(max_entries=50)
    torch.cuda.tensor(8192)
    time.sleep(0.3)
    snapshot = torch.cuda.memory._snapshot()
    print([(entry["action"], entry["size"]) for entry in snapshot["device_traces"][0]])
    torch.cuda.memory._record_memory_history(enabled=None)
    print(torch.cuda.memory.allocator.enabled)


def describe():
    import torch
    from torch.autograd import ProfilerActivity, profiler

    print([entry for entry in sys.path])
    print([type(finder).__name__ if not isinstance(finder, type) else finder.__name__ for finder in sys.meta_path])
    print(getattr(sys.modules.get("sitecustomize"), "MINE", None), getattr(sys, "from_sitecustomize", None))
    print(torch.__spec__.loader is torch.__loader__, vars(torch.__loader__))
    profiler._prepare_profiler({}, {ProfilerActivity.CUDA})
    profiler._enable_profiler({}, {ProfilerActivity.CUDA})
    print(profiler._disable_profiler(), profiler.calls)
    import threading

    print(threading.active_count())


def threads():
    import _thread
    import atexit

    def wait():
        while _thread._count():
            time.sleep(0.001)
        print("no thread")

    atexit.register(wait)  # before what registers itself later, which thus comes earlier
    job("healthy")


if __name__ == "__main__":
    {"own": own_history, "plain": describe, "threads": threads}.get(sys.argv[1], lambda: job(sys.argv[1]))()
