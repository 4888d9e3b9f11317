# SPDX-License-Identifier: Apache-2.0
"""The checks of tests/e2e/gpu_checks: each module here with a list CHECKS is a group, named after its file.

A check has a name, a `timeout` for each of its processes in seconds, `alone` (true: it measures times, so nothing else
may run meanwhile) and run(runner), which returns None or one sentence about what is wrong. A string left in `note` is
printed beside the result.
"""
