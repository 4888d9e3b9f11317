# SPDX-License-Identifier: Apache-2.0
# EXPECT: silent
# WHY: A jitted JAX training loop with donated buffers; XLA makes command buffers (graphs) by itself and updates them.
#   The host never waits in the loop.
import os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import functools
import jax
import jax.numpy as jnp

WIDTH, BATCH, LAYERS = 4096, 4096, 4


def loss_of(weights, x, y):
    h = x
    for w in weights[:-1]:
        h = jax.nn.gelu(h @ w)
    return jnp.mean((h @ weights[-1] - y).astype(jnp.float32) ** 2)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def step(weights, moments, x, y, rate):
    loss, grads = jax.value_and_grad(loss_of)(weights, x, y)
    moments = [0.9 * m + g for m, g in zip(moments, grads)]
    weights = [w - rate.astype(w.dtype) * m for w, m in zip(weights, moments)]
    return weights, moments, loss


keys = jax.random.split(jax.random.PRNGKey(0), LAYERS + 2)
weights = [(jax.random.normal(k, (WIDTH, WIDTH)) / 64).astype(jnp.bfloat16) for k in keys[:LAYERS]]
moments = [jnp.zeros_like(w) for w in weights]
x = jax.random.normal(keys[-2], (BATCH, WIDTH)).astype(jnp.bfloat16)
y = jax.random.normal(keys[-1], (BATCH, WIDTH)).astype(jnp.bfloat16)
losses = []
for i in range(150):
    weights, moments, loss = step(weights, moments, x, y, jnp.float32(0.5 / (1 + i / 100)))
    losses.append(loss)
first, last = float(losses[0]), float(losses[-1])
print("loss fell", last < first, "finite", last == last)
