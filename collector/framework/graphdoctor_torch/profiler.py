# SPDX-License-Identifier: Apache-2.0
"""Gives way to PyTorch's profiler."""
import functools


def yield_to_profiler(torch, table):
    """CUPTI has room for one subscriber: while PyTorch's profiler wants the device, it is PyTorch's."""
    module = torch.autograd.profiler
    cuda = torch.autograd.ProfilerActivity.CUDA
    prepare, enable, disable = module._prepare_profiler, module._enable_profiler, module._disable_profiler
    state = {"active": False}

    def begins(activities):
        if cuda in activities and not state["active"]:
            state["active"] = True
            table.other_profiler(1)

    def ends():
        if state["active"]:
            state["active"] = False
            table.other_profiler(0)

    @functools.wraps(prepare)
    def _prepare_profiler(config, activities, *args, **kwargs):
        begins(activities)
        return prepare(config, activities, *args, **kwargs)

    @functools.wraps(enable)
    def _enable_profiler(config, activities, *args, **kwargs):
        begins(activities)
        try:
            return enable(config, activities, *args, **kwargs)
        except BaseException:
            ends()
            raise

    @functools.wraps(disable)
    def _disable_profiler(*args, **kwargs):
        try:
            return disable(*args, **kwargs)
        finally:
            ends()

    module._prepare_profiler = _prepare_profiler
    module._enable_profiler = _enable_profiler
    module._disable_profiler = _disable_profiler
