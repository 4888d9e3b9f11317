# SPDX-License-Identifier: Apache-2.0
"""Communication: two ranks on one GPU, bytes against the client's own arithmetic, by each source alone."""
from .check import Check

# Another tool's value of a variable is kept; a library that does not exist stands for one.
NOBODY = "/nonexistent/other-tool.so"


def ranks(name, words, first="", **more):
    return Check("nccl_" + name, ["{clients}/nccl_ranks", *words], first, timeout=90, **more)


CHECKS = [
    Check("nccl_pair", ["python3", "{scripts}/nccl_pair.py"], timeout=150),
    ranks("traffic_both", ["traffic", "both"]),
    ranks("traffic_plugin", ["traffic", "plugin"], env={"NVTX_INJECTION64_PATH": NOBODY}),
    ranks("traffic_nvtx", ["traffic", "nvtx"], env={"NCCL_PROFILER_PLUGIN": NOBODY}),
    ranks("destroyed_first", ["destroyedFirst"], "GD503", where="nccl_ranks.cu"),
]
