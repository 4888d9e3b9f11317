// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gd::run {

// Whether a core was written of a command that a fault ended, and if not why: a core is the only place where
// its stack is. `limitBytes`: of RLIMIT_CORE. `pattern`: of the kernel's core_pattern.
std::string coreClause(bool isWritten, std::uint64_t limitBytes, std::string_view pattern);

// The same with this process's limit and this machine's pattern, for the signal that ended the command. Empty
// for signals that are no fault.
std::string coreClause(int signal, bool isWritten);

} // namespace gd::run
