// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gd::nccl {

/// Records the version of the NCCL that `inside` (code or data of it) belongs to, as the fact `nccl_version`
/// (NCCL_VERSION_CODE); once a process. What cannot be found out stays unsaid: NCCL may be linked into
/// another library that does not show its functions.
void reportVersion(const void* inside) noexcept;

} // namespace gd::nccl
