# SPDX-License-Identifier: Apache-2.0
"""PyTorch jobs: the rule, and the line of the user's script."""
from .check import Check


def script(name, words, first="", **more):
    return Check(name, ["python3", "{scripts}/" + words[0], *words[1:]], first, marked=first != "", timeout=120, **more)


CHECKS = [
    script("healthy", ["healthy.py", "50"]),
    script("item_plain", ["item_in_capture.py", "plain"], "GD101"),
    script("item_deep", ["item_in_capture.py", "deep"], "GD101"),
    script("item_hook", ["item_in_capture.py", "hook"], "GD101"),
    script("pinning_thread", ["pinning_thread.py"], "GD102"),
    script("torch_profiler", ["torch_profiler.py", "again"]),
    script("compiled", ["compiled.py"]),
    script("sync_broken", ["replay_faults.py", "sync", "broken"], "GD302", alone=True),
    script("sync_healthy", ["replay_faults.py", "sync", "healthy"], alone=True),
    script("freed_broken", ["replay_faults.py", "freed", "broken"], "GD202"),
    script("freed_cached", ["replay_faults.py", "freed", "cached"], "GD202"),
    script("freed_healthy", ["replay_faults.py", "freed", "healthy"]),
    script("side_broken", ["replay_faults.py", "side", "broken"], "GD114"),
    script("side_healthy", ["replay_faults.py", "side", "healthy"]),
    Check("fallback", ["python3", "{scripts}/shapes.py", "fallback"], "GD306", where="shapes.py", timeout=120, alone=True),
]
