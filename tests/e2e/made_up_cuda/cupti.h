// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>

/// What the made-up libcupti exports for the program that plays the driver, beside CUPTI's own functions. The
/// library answers the function that GD_CUPTI_FAILS names ("cuptiSubscribe_v2=39") with that CUptiResult.
extern "C" {
/// Calls the subscriber, if there is one and it has enabled this callback.
void madeUpNotify(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
/// One replay of an executable, 500 ns long: a record of graph-level tracing, if that is on.
void madeUpReplay(std::uint32_t correlation, std::uint32_t exec);
/// Flushes that have delivered records.
unsigned madeUpFlushes();
/// Calls of cuptiActivityFlushAll.
unsigned madeUpFlushCalls();
/// The kinds of activity that are on.
unsigned madeUpKinds();
/// Calls of the failing function so far. More than 0 also in a version that is not used for activity.
unsigned madeUpRefusals();
}
