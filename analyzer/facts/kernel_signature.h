// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gd::facts {

// What a kernel says of one of its parameters.
enum class ParamUse : std::uint8_t {
    unknown, // no pointer, or nothing can be told
    reads, // T const*
    writes // T*, of a kernel that takes others as T const*: its author tells them apart
};

// By parameter, from a demangled name with its parameters; empty where there are none, such as "gemm" or what
// Triton makes. A kernel all of whose pointers are T* says nothing: many are written without const.
std::vector<ParamUse> kernelSignature(std::string_view demangled);

} // namespace gd::facts
