// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_runtime.h"

#include <string_view>

namespace gd::nccl {

/// NCCL's name of a call ("AllReduce", "ncclAllReduce", "Send", …; with "Config" behind it, its variants that
/// take a configuration) as a kind of ours; 0 for calls that are not followed (Gather and Scatter are made of
/// sends and receives, which are seen themselves).
gd_rt_comm_kind kindOf(std::string_view function) noexcept;

/// Calls whose root means something.
bool hasRoot(std::string_view function) noexcept;

/// NCCL's name of a data type ("ncclFloat32", "ncclBfloat16", …) as ncclDataType_t's number; -1 when unknown.
int dtypeOf(std::string_view name) noexcept;

} // namespace gd::nccl
