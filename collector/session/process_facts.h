// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/session_state.h"

#include <string_view>

namespace gd::session {

/// Writes who this process is: command line, executable, host, folder, launcher and ranks, and the allowed
/// part of the environment. Values of secrets are masked. Runs on the collector's own thread.
void writeProcessFacts(SessionState& session) noexcept;

/// The variable may be recorded: those of CUDA, NCCL, NVTX, PyTorch, launchers and the loader.
bool isRecordedVariable(std::string_view name) noexcept;
/// *key*, *token*, *secret*, *password*, in any case.
bool namesSecret(std::string_view name) noexcept;
/// Copies a command line (arguments divided by 0 bytes) into `out`, arguments quoted where needed and divided
/// by blanks, values of secret-naming options and assignments replaced by "***". Returns the length.
std::size_t maskCommandLine(std::string_view arguments, char* out, std::size_t capacity) noexcept;

} // namespace gd::session
