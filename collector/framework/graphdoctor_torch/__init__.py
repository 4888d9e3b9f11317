# SPDX-License-Identifier: Apache-2.0
"""What GraphDoctor does in a process with PyTorch; loaded by sitecustomize after `torch`."""
import os

from .hook import follow_allocator
from .profiler import yield_to_profiler
from .table import attach


def start(torch, loading=()):
    table = attach()
    if table is None:
        return None
    if os.environ.get("GRAPHDOCTOR_WITH_PROFILER") == "yield":
        try:
            yield_to_profiler(torch, table)
        except AttributeError:
            pass  # a version without Kineto, or with other names: the two meet as without us
    if os.environ.get("GRAPHDOCTOR_FRAMEWORK_HOOKS") == "auto":
        return follow_allocator(torch, table, loading)
    return None
