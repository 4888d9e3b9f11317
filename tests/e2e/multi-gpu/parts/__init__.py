# SPDX-License-Identifier: Apache-2.0
"""The parts of multi_gpu, in the order in which they run: what proves most in the least time comes first.

A part is a module with NAME, SECONDS (its share of the budget; every process in it ends before) and rows(job), which
yields one dictionary a row as it is ready: name, figures, and `wrong`, one sentence, when it failed.
"""
from . import bytes_moved, cost, faults, layouts, pytorch

PARTS = [bytes_moved, faults, layouts, pytorch, cost]
