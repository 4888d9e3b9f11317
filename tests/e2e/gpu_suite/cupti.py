# SPDX-License-Identifier: Apache-2.0
"""Memory, contexts, frozen scalars, and how processes end."""
from .check import Check

CHECKS = [
    Check("memory", ["{clients}/memory"]),
    Check("contexts_reset", ["{clients}/contexts", "reset"]),
    Check("contexts_two", ["{clients}/contexts", "two"]),
    Check("contexts_devices", ["{clients}/contexts", "devices"]),
    Check("frozen_broken", ["{clients}/frozen_scalar", "broken"], "GD201", where="frozen_scalar.cu"),
    Check("frozen_healthy", ["{clients}/frozen_scalar", "healthy"]),
    Check("ends", ["{clients}/ends"]),
]
