# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD111
# WHY: A memory-hygiene callback runs the garbage collector inside a global-mode CuPy capture; an old graph that hangs
#   in a reference cycle is destroyed there.
import gc
import cupy as cp

gc.disable()
x = cp.ones((1024, 1024), dtype=cp.float32)
y = cp.zeros_like(x)
stream = cp.cuda.Stream(non_blocking=True)
GLOBAL = cp.cuda.runtime.streamCaptureModeGlobal


class Plan:
    def __init__(self, factor):
        self.factor = cp.float32(factor)
        self.owner = {"plan": self}  # the cycle
        cp.multiply(x, self.factor, out=y)
        stream.synchronize()
        stream.begin_capture(GLOBAL)
        try:
            cp.multiply(x, self.factor, out=y)
            tidy()
            cp.add(y, self.factor, out=y)
        finally:
            self.graph = stream.end_capture()

    def run(self):
        self.graph.launch(stream)


def tidy():
    gc.collect()  # MARK


cp.add(y, cp.float32(1), out=y)
cp.cuda.Device().synchronize()
outcomes = []
with stream:
    plan = None
    for factor in (1.5, 2.5):
        try:
            old, plan = plan, None
            del old
            plan = Plan(factor)
            for _ in range(5):
                plan.run()
            stream.synchronize()
            outcomes.append("ok")
        except Exception as error:
            outcomes.append("failed")
print(outcomes)
