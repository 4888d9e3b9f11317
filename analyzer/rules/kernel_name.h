// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gd::rules {

// A demangled kernel name as people say it, at most 64 columns: no return type, namespaces or arguments; of
// the template's arguments those that fit, nested ones to one level, and of a lambda the function that holds
// it. "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(int, …)"
// gives "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, …>". Any other text comes back as it is.
std::string shortKernelName(std::string_view demangled);

} // namespace gd::rules
