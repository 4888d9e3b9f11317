# SPDX-License-Identifier: Apache-2.0
"""Communication: two ranks on one GPU, bytes against the client's own arithmetic."""
from .check import Check

CHECKS = [
    Check("nccl_pair", ["python3", "{scripts}/nccl_pair.py"], timeout=150),
]
