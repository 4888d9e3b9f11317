# SPDX-License-Identifier: Apache-2.0
"""Each error code of a capture, with its rule and a line of the client."""
from .check import Check


def client(case, first):
    return Check("capture_" + case, ["{clients}/capture_errors", case], first, where="capture_errors.cu")


CHECKS = [
    client("synchronize900", "GD101"),
    client("cascade901", "GD101"),
    client("malloc900", "GD109"),
    client("foreignThread900", "GD102"),
    client("merge902", "GD106"),
    client("unmatched903", "GD108"),
    client("unjoined904", "GD104"),
    client("isolation905", "GD105"),
    client("implicit906", "GD103"),
    client("memcpy906", "GD103"),
    client("capturedEvent907", "GD107"),
    client("wrongThread908", "GD108"),
    client("abandoned", "GD108"),
    Check("capture_threadLocalIsFine", ["{clients}/capture_errors", "threadLocalIsFine"]),
    Check("capture_joinedIsFine", ["{clients}/capture_errors", "joinedIsFine"]),
]
