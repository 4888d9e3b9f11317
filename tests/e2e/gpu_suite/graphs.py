# SPDX-License-Identifier: Apache-2.0
"""The life of graphs, and what graph-level tracing must not break."""
from .check import Check

CHECKS = [
    Check("graph_life", ["{clients}/graph_life"]),
    Check("other_profiler", ["{clients}/other_profiler"], says="another profiler already uses CUPTI"),
    Check("trace_liveAllocations", ["{clients}/graph_trace", "liveAllocations"]),
    Check("trace_autoFree", ["{clients}/graph_trace", "autoFree"]),
    Check("trace_toggle", ["{clients}/graph_trace", "toggle"]),
]
