// SPDX-License-Identifier: Apache-2.0
#include "train/run_config.h"

#include "model/stage_plan.h"
#include "train/checkpoint.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace gdt::train {

namespace {

std::string notMultiple(const char* option, std::int64_t value, const std::string& of, std::int64_t divisor) {
    return std::string(option) + " " + std::to_string(value) + " is no multiple of " + of + " ("
        + std::to_string(divisor) + ")";
}

} // namespace

std::string RunConfig::layoutProblem() const {
    const int tensor = parallel.tensor;
    const parallel::ContextGroup ring{0, parallel.context, nullptr, ringLayout};
    if (model.heads % tensor != 0) {
        return notMultiple("--heads", model.heads, "--tp", tensor);
    }
    if (model.vocab % tensor != 0) {
        return notMultiple("--vocab", model.vocab, "--tp", tensor);
    }
    if (model.mlpHidden() % tensor != 0) {
        return notMultiple("--mlp-hidden", model.mlpHidden(), "--tp", tensor);
    }
    if (model.seqLen % ring.divisor() != 0) {
        const bool zigzag = ringLayout == parallel::RingLayout::Zigzag;
        return notMultiple("--seq-len", model.seqLen, zigzag ? "2 * --cp" : "--cp", ring.divisor());
    }
    if (sequenceParallel && ring.localLength(model.seqLen) % tensor != 0) {
        return notMultiple("--seq-len", model.seqLen, "--cp * --tp, as --sequence-parallel needs",
            parallel.context * tensor);
    }
    const std::int64_t parts = static_cast<std::int64_t>(parallel.pipeline) * virtualStages;
    if (model.layers < parts) {
        return "--layers " + std::to_string(model.layers) + " are too few for --pp * --virtual-stages ("
            + std::to_string(parts) + ")";
    }
    if (tensorComm == CollectivePlacement::Outside && passScope != graphs::Scope::Segment) {
        return "--tp-comm outside cuts the step at every tensor-parallel collective: it goes with "
               "--graph-scope segment only";
    }
    if (tensorComm != CollectivePlacement::Outside && passScope == graphs::Scope::Segment && tensor > 1) {
        return "--graph-scope segment leaves the tensor-parallel collectives outside: it needs --tp-comm "
               "outside";
    }
    if (passScope == graphs::Scope::Hop && parallel.context == 1) {
        return "--graph-scope hop captures the steps of the attention ring: it needs --cp 2 or more";
    }
    const std::string problem
        = pipeline::ScheduleShape{schedule, parallel.pipeline, virtualStages, microBatches}.problem();
    return problem.empty() ? fp8Problem() : problem;
}

std::string RunConfig::fp8Problem() const {
    if (type != ElementType::FP8 || backend == runtime::Backend::Host) {
        return {};
    }
    const std::int64_t rows
        = parallel::ContextGroup{0, parallel.context, nullptr, ringLayout}.localLength(model.seqLen)
        * microBatch;
    const struct {
        const char* what;
        std::int64_t size;
    } sizes[] = {{"--hidden", model.hidden}, {"--hidden / --tp", model.hidden / parallel.tensor},
        {"--mlp-hidden / --tp", model.mlpHidden() / parallel.tensor},
        {"--seq-len / --cp * --micro-batch-size", rows}};
    for (const auto& [what, size] : sizes) {
        if (size % 16 != 0) {
            return std::string("--dtype fp8 multiplies 16 numbers at a time on a GPU: ") + what + " is "
                + std::to_string(size) + ", no multiple of 16";
        }
    }
    return {};
}

std::vector<std::int32_t> RunConfig::readData(std::string& problem) const {
    return data::readTokenFile(dataFile, dataFormat, model.vocab, model.seqLen + 1, problem);
}

std::string RunConfig::saveProblem() const {
    if (saveFolder.empty()) {
        return {};
    }
    std::error_code failure;
    std::filesystem::create_directories(saveFolder, failure);
    if (!failure && ::access(saveFolder.c_str(), W_OK | X_OK) != 0) {
        failure = std::error_code(errno, std::generic_category());
    }
    return failure ? "--save " + saveFolder + ": no checkpoint can be written there: " + failure.message()
                   : std::string();
}

std::string RunConfig::fileProblem() const {
    std::string problem;
    if (!dataFile.empty()) {
        static_cast<void>(readData(problem));
    }
    for (int rank = 0; !resumeFolder.empty() && problem.empty() && rank < parallel.world(); ++rank) {
        static_cast<void>(Checkpoint(*this, rank).check(resumeFolder, problem));
    }
    return problem;
}

std::string RunConfig::faultProblem() const {
    for (const faults::FaultSpec& fault : faults) {
        if (!fault.rank || !fault.layer || *fault.rank >= parallel.world()) {
            continue;
        }
        const parallel::ParallelState place(parallel, static_cast<int>(*fault.rank));
        const model::StagePlan plan{place.coordinate(parallel::Axis::Pipeline), parallel.pipeline,
            std::vector<int>(static_cast<std::size_t>(virtualStages), 1)};
        bool holds = false;
        for (int chunk = 0; chunk < virtualStages; ++chunk) {
            holds = holds
                || (*fault.layer >= plan.firstLayer(plan.part(chunk), model.layers)
                    && *fault.layer < plan.firstLayer(plan.part(chunk) + 1, model.layers));
        }
        if (!holds) {
            return "--fault " + fault.id + " never happens: rank " + std::to_string(*fault.rank)
                + " does not hold layer " + std::to_string(*fault.layer);
        }
    }
    return {};
}

} // namespace gdt::train
