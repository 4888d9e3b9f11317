# SPDX-License-Identifier: Apache-2.0
"""GraphDoctor's entry on PYTHONPATH: waits for `import torch`, then runs the job's own sitecustomize.

Python imports the first module of this name at its start. This one leaves sys.path as it would be without it and hands
over to the next, so that a program sees no difference. Children inherit PYTHONPATH and come through here again.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class AfterTorch(object):
    """First in sys.meta_path until torch has been imported; finds nothing itself.

    It notes both clocks around the loading of torch's libraries, where the allocator reads the system's for its times."""

    loading = ()

    def find_spec(self, name, path=None, target=None):
        if name == "torch._C":
            self.loading = [clocks()]
        elif len(self.loading) == 1:
            self.loading.append(clocks())
        if name != "torch":
            return None
        before = [clocks()]
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                self.follow(spec.loader, before)
                return spec
        return None

    def follow(self, loader, before):
        """Has this one loader object call us after it ran torch's code; its class stays as it is."""
        run = getattr(loader, "exec_module", None)
        if run is None:
            return

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            run(module)
            self.loaded(module, (self.loading or before) + [clocks()])

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # a loader that takes no attributes: no hook, and the trace says so

    def loaded(self, torch, loading):
        try:
            sys.meta_path.remove(self)
        except ValueError:
            return  # a second import of torch
        try:
            import importlib.util

            folder = os.path.join(HERE, "graphdoctor_torch")
            spec = importlib.util.spec_from_file_location("_graphdoctor_torch", os.path.join(folder, "__init__.py"),
                                                          submodule_search_locations=[folder])
            hook = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(hook)
            hook.start(torch, loading[:2])
        except Exception as error:
            sys.stderr.write("graphdoctor: PyTorch's allocator is not followed: %s: %s\n"
                             % (type(error).__name__, error))


def clocks():
    """A few (CLOCK_MONOTONIC, Unix time, CLOCK_MONOTONIC), in nanoseconds."""
    return [(time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.time_ns(), time.clock_gettime_ns(time.CLOCK_MONOTONIC))
            for _ in range(4)]


def is_here(entry):
    try:
        return os.path.abspath(entry) == HERE
    except OSError:  # a relative one, and the working directory is gone
        return False


def leave_path():
    """Takes this folder out of sys.path; the environment keeps it for children."""
    for entry in list(sys.path):
        if isinstance(entry, str) and is_here(entry):
            sys.path.remove(entry)
            sys.path_importer_cache.pop(entry, None)


def run_next():
    """The job's own sitecustomize, when there is one; its errors are Python's to report."""
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
        if own is not None:
            sys.modules["sitecustomize"] = own


leave_path()
if sys.version_info >= (3, 8) and os.environ.get("GRAPHDOCTOR_SPOOL"):
    sys.meta_path.insert(0, AfterTorch())
run_next()
