// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gd::cupti {

/// Where CUPTI keeps the times of kernels, copies and fills until it has read them.
///
/// What is measured on an H200 with CUPTI 13.0 (tests/e2e/probes/graph_records): 32 bytes a record; the three
/// buffers of 3 MB that it takes by default before the job's first allocation move the job's own memory (200
/// tiny kernels on the shifted address took 189 us instead of 168); buffers filled by the nodes of replays of
/// executables that were made under graph-level tracing are never used again, and when the pool is used up
/// every record is missing without an error.
///
/// So small buffers on the device, one from the start.
///
/// Call before the job's first context, best before subscribing. Returns how many records of such nodes may
/// be asked for.
std::uint64_t setDeviceBuffers() noexcept;

} // namespace gd::cupti
