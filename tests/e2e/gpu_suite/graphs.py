# SPDX-License-Identifier: Apache-2.0
"""The life of graphs, and what graph-level tracing must not break."""
from .check import Check

CHECKS = [
    Check("graph_life", ["{clients}/graph_life"]),
    Check("kinds_allocations", ["{clients}/graph_kinds", "allocations"]),
    Check("kinds_forked", ["{clients}/graph_kinds", "forked"]),
    Check("kinds_updated", ["{clients}/graph_kinds", "updated"]),
    Check("kinds_conditional", ["{clients}/graph_kinds", "conditional"]),
    Check("other_profiler", ["{clients}/other_profiler"], says="another profiler already uses CUPTI"),
    Check("trace_liveAllocations", ["{clients}/graph_trace", "liveAllocations"], first="GD405"),
    Check("trace_autoFree", ["{clients}/graph_trace", "autoFree"]),
    Check("trace_toggle", ["{clients}/graph_trace", "toggle"], first="GD305|silent"),  # it does capture again and again
]
