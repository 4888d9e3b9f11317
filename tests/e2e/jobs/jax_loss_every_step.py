# SPDX-License-Identifier: Apache-2.0
# EXPECT: GD302 | GD303 | GD304
# ALONE: idle time of the device is what is judged
# WHY: The jitted step runs as XLA command buffers, but the loop turns the loss into a float after every step for its
#   progress line and its divergence test: the host waits, the device waits for the next dispatch.
import os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import functools
import json
import jax
import jax.numpy as jnp

WIDTH, BATCH, LAYERS = 1024, 2048, 6


def loss_of(weights, x, y):
    h = x
    for w in weights[:-1]:
        h = jax.nn.gelu(h @ w)
    return jnp.mean((h @ weights[-1] - y).astype(jnp.float32) ** 2)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def step(weights, moments, x, y):
    loss, grads = jax.value_and_grad(loss_of)(weights, x, y)
    moments = [0.9 * m + g for m, g in zip(moments, grads)]
    weights = [w - jnp.asarray(0.1, w.dtype) * m for w, m in zip(weights, moments)]
    return weights, moments, loss


keys = jax.random.split(jax.random.PRNGKey(1), LAYERS + 2)
weights = [(jax.random.normal(k, (WIDTH, WIDTH)) / 32).astype(jnp.bfloat16) for k in keys[:LAYERS]]
moments = [jnp.zeros_like(w) for w in weights]
x = jax.random.normal(keys[-2], (BATCH, WIDTH)).astype(jnp.bfloat16)
y = jax.random.normal(keys[-1], (BATCH, WIDTH)).astype(jnp.bfloat16)
history = []
for i in range(400):
    weights, moments, loss = step(weights, moments, x, y)  # MARK
    value = float(loss)  # MARK
    history.append(value)
    line = json.dumps({"step": i, "loss": value, "best": min(history), "tail": sorted(history[-200:])})
    if value != value:
        break
print("steps", len(history))
