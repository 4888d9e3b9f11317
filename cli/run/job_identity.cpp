// SPDX-License-Identifier: Apache-2.0
#include "cli/run/job_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

namespace gd::run {
namespace {

std::optional<int> asNumber(const std::optional<std::string>& text) {
    int value = 0;
    if (!text)
        return std::nullopt;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    return error == std::errc() && end == text->data() + text->size() && value > 0 ? std::optional(value)
                                                                                   : std::nullopt;
}

// SLURM_STEP_TASKS_PER_NODE is "4" or "4(x2)" when all nodes are alike, else a list that needs the node's
// place.
std::optional<int> slurmLocalSize(const ReadVariable& read) {
    const auto text = read("SLURM_STEP_TASKS_PER_NODE");
    if (!text || text->find(',') != std::string::npos)
        return std::nullopt;
    return asNumber(text->substr(0, text->find('(')));
}

std::optional<JobIdentity> slurmStep(const ReadVariable& read) {
    const auto job = read("SLURM_JOB_ID");
    const auto step = read("SLURM_STEP_ID");
    // Numbers from 0xfffffff0 stand for batch scripts and other steps that srun did not make.
    if (!job || !step || step->size() >= 10 || !read("SLURM_PROCID"))
        return std::nullopt;
    const std::string id = safeName(fmt::format("{}.{}", *job, *step));
    return JobIdentity{"slurm-" + id, id, "slurm", slurmLocalSize(read)};
}

std::optional<JobIdentity> torchrun(const ReadVariable& read) {
    const auto id = read("TORCHELASTIC_RUN_ID");
    const auto address = read("MASTER_ADDR");
    const auto port = read("MASTER_PORT");
    if (!id || !address || !port)
        return std::nullopt;
    const std::string restart = read("TORCHELASTIC_RESTART_COUNT").value_or("0");
    // Without --rdzv-id the run is called "none": only the address tells jobs apart.
    const std::string name = *id == "none" ? fmt::format("{}-{}", *address, *port) : *id;
    return JobIdentity{safeName(fmt::format("torchrun-{}-{}-{}-{}", *id, *address, *port, restart)),
        safeName(name), "torchrun", asNumber(read("LOCAL_WORLD_SIZE"))};
}

} // namespace

std::optional<std::string> readVariable(std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::optional<JobIdentity> identifyJob(const ReadVariable& read) {
    // The innermost launcher first: torchrun inside a Slurm step is its own job.
    if (auto job = torchrun(read))
        return job;
    if (const auto job = read("OMPI_MCA_ess_base_jobid"); job && read("OMPI_COMM_WORLD_RANK"))
        return JobIdentity{"openmpi-" + safeName(*job), safeName(*job), "openmpi",
            asNumber(read("OMPI_COMM_WORLD_LOCAL_SIZE"))};
    if (auto job = slurmStep(read))
        return job;
    if (const auto name = read("PMIX_NAMESPACE"))
        return JobIdentity{
            "pmix-" + safeName(*name), safeName(*name), "pmix", asNumber(read("OMPI_COMM_WORLD_LOCAL_SIZE"))};
    return std::nullopt;
}

std::optional<std::string> rankOf(const ReadVariable& read) {
    for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMIX_RANK", "PMI_RANK"}) {
        if (auto rank = read(name))
            return rank;
    }
    return std::nullopt;
}

std::string safeName(std::string_view text) {
    std::string out(text.substr(0, 100));
    std::replace_if(
        out.begin(), out.end(),
        [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_';
        },
        '_');
    return out;
}

} // namespace gd::run
