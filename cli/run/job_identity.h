// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gd::run {

// Reads one environment variable; nullopt when unset. Tests hand in their own.
using ReadVariable = std::function<std::optional<std::string>(std::string_view)>;
std::optional<std::string> readVariable(std::string_view name); // of this process

// Which job of a launcher this process belongs to, as far as its environment tells: Slurm step, PMIx
// namespace, Open MPI job, torchrun run. Equal on all processes of one job; `key` is safe in a file name.
struct JobIdentity {
    std::string key; // "slurm-4711.0"
    std::string jobId; // for names people read: "4711.0"
    std::string launcher; // "slurm" | "pmix" | "openmpi" | "torchrun"
    std::optional<int> localSize; // processes of the job on this host, when the launcher says so
};
std::optional<JobIdentity> identifyJob(const ReadVariable& read);

// The rank that the launcher gave this process.
std::optional<std::string> rankOf(const ReadVariable& read);

// Letters, digits, '.', '-' and '_' stay, anything else becomes '_'; at most 100 characters.
std::string safeName(std::string_view text);

} // namespace gd::run
