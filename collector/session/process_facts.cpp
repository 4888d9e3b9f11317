// SPDX-License-Identifier: Apache-2.0
#include "collector/session/process_facts.h"

#include "collector/raw/records_process.h"
#include "collector/session/session.h"
#include "collector/session/system.h"

#include <cstring>
#include <unistd.h>

namespace gd::session {

namespace {

constexpr std::string_view kMasked = "***";

char lower(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool containsIgnoringCase(std::string_view text, std::string_view word) noexcept {
    for (std::size_t i = 0; i + word.size() <= text.size(); ++i) {
        std::size_t j = 0;
        while (j < word.size() && lower(text[i + j]) == word[j]) {
            ++j;
        }
        if (j == word.size()) {
            return true;
        }
    }
    return false;
}

/// Appends to a fixed buffer and stops where it is full.
struct Output {
    char* to;
    std::size_t capacity;
    std::size_t length = 0;

    void add(std::string_view text) noexcept {
        for (const char letter : text) {
            if (length < capacity) {
                to[length++] = letter;
            }
        }
    }
    void addQuoted(std::string_view text) noexcept {
        if (!text.empty() && text.find_first_of(" \t\n\"'\\$`*?;&|<>()#~") == std::string_view::npos) {
            add(text);
            return;
        }
        add("'");
        for (const char letter : text) {
            add(letter == '\'' ? std::string_view("'\\''") : std::string_view(&letter, 1));
        }
        add("'");
    }
};

/// First of several variables that is set.
const char* firstSet(const SessionState& session, std::initializer_list<const char*> names) noexcept {
    for (const char* name : names) {
        if (const char* value = session.environment.variable(name); value != nullptr && value[0] != '\0') {
            return value;
        }
    }
    return nullptr;
}

void factFrom(SessionState& session, std::string_view key, const char* value) noexcept {
    if (value != nullptr) {
        writeFact(session, key, value);
    }
}

void writeLauncher(SessionState& session) noexcept {
    const auto has = [&](const char* name) noexcept { return session.environment.variable(name) != nullptr; };
    const char* launcher = has("TORCHELASTIC_RUN_ID") ? "torchrun"
        : has("OMPI_COMM_WORLD_RANK")                 ? "openmpi"
        : has("SLURM_PROCID")                         ? "slurm"
        : has("PMI_RANK") || has("PMIX_RANK")         ? "pmi"
        : has("RANK")                                 ? "environment"
                                                      : nullptr;
    factFrom(session, "launcher", launcher);
    factFrom(session, "rank",
        firstSet(session, {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}));
    factFrom(session, "world_size",
        firstSet(session, {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}));
    factFrom(session, "local_rank",
        firstSet(session, {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}));
    factFrom(session, "job_id",
        firstSet(session,
            {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PBS_JOBID",
                "LSB_JOBID"}));
}

void writeEnvironment(SessionState& session) noexcept {
    session.environment.forEach([&](std::string_view text) noexcept {
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || !isRecordedVariable(text.substr(0, equals))) {
            return;
        }
        const std::string_view name = text.substr(0, equals);
        raw::EnvVar record{};
        record.name = session.strings.string(name);
        record.value = session.strings.string(namesSecret(name) ? kMasked : text.substr(equals + 1));
        session.ring.appendHistory(record);
    });
}

void writeLink(SessionState& session, std::string_view key, const char* link) noexcept {
    char path[PATH_MAX];
    const ssize_t length = readlink(link, path, sizeof path);
    if (length > 0) {
        writeFact(session, key, {path, static_cast<std::size_t>(length)});
    }
}

} // namespace

bool namesSecret(std::string_view name) noexcept {
    return containsIgnoringCase(name, "key") || containsIgnoringCase(name, "token")
        || containsIgnoringCase(name, "secret") || containsIgnoringCase(name, "password");
}

bool isRecordedVariable(std::string_view name) noexcept {
    static constexpr std::string_view kPrefixes[]
        = {"CUDA_", "CUBLAS_", "CUDNN_", "NCCL_", "NVTX_", "NVIDIA_", "TORCH", "PYTORCH_", "OMPI_", "SLURM_",
            "PMI_", "PMIX_", "UCX_", "FI_", "GRAPHDOCTOR_", "OMP_", "MKL_"};
    static constexpr std::string_view kNames[]
        = {"LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "RANK", "WORLD_SIZE", "LOCAL_RANK",
            "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "TRITON_CACHE_DIR"};
    for (const std::string_view prefix : kPrefixes) {
        if (name.substr(0, prefix.size()) == prefix) {
            return true;
        }
    }
    for (const std::string_view known : kNames) {
        if (name == known) {
            return true;
        }
    }
    return false;
}

std::size_t maskCommandLine(std::string_view arguments, char* out, std::size_t capacity) noexcept {
    Output output{out, capacity};
    bool maskNext = false;
    bool first = true;
    while (!arguments.empty()) {
        const std::size_t end = arguments.find('\0');
        const std::string_view argument = arguments.substr(0, end);
        arguments = end == std::string_view::npos ? std::string_view() : arguments.substr(end + 1);
        output.add(first ? "" : " ");
        const std::size_t equals = argument.find('=');
        const bool isOption = !argument.empty() && argument[0] == '-';
        if (maskNext && !isOption) {
            output.add(kMasked);
            maskNext = false;
        } else if (!first && equals != std::string_view::npos && namesSecret(argument.substr(0, equals))) {
            output.addQuoted(argument.substr(0, equals));
            output.add("=");
            output.add(kMasked);
            maskNext = false;
        } else {
            output.addQuoted(argument);
            maskNext = isOption && equals == std::string_view::npos && namesSecret(argument);
        }
        first = false;
    }
    return output.length;
}

void writeProcessFacts(SessionState& session) noexcept {
    constexpr std::size_t kCommandLineBytes = std::size_t{64} * 1024;
    auto* text = static_cast<char*>(mapMemory(2 * kCommandLineBytes));
    if (text != nullptr) {
        std::size_t length = readFile("/proc/self/cmdline", text, kCommandLineBytes);
        length -= length != 0 && text[length - 1] == '\0' ? 1 : 0;
        const std::size_t masked
            = maskCommandLine({text, length}, text + kCommandLineBytes, kCommandLineBytes);
        writeFact(session, "command_line", {text + kCommandLineBytes, masked});
        munmap(text, 2 * kCommandLineBytes);
    }
    writeLink(session, "executable", "/proc/self/exe");
    writeLink(session, "working_directory", "/proc/self/cwd");
    writeFact(session, "host", session.identity.host);
    writeFact(session, "collector_version", GD_VERSION);
    static constexpr const char* kLevels[] = {"off", "history", "light", "standard", "full"};
    writeFact(session, "level", kLevels[static_cast<unsigned>(publishedLevel())]);
    writeLauncher(session);
    writeEnvironment(session);
}

} // namespace gd::session
