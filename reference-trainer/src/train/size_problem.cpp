// SPDX-License-Identifier: Apache-2.0
#include "train/size_problem.h"

#include "runtime/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace gdt::train {

namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kLargestGpu = 1024 * kGiB;
constexpr double kNodeBytes = 768; // of a captured kernel in graph and executable; 826 measured
constexpr double kNodesOfALayer = 24; // both passes

struct Widths {
    double element, wide; // bytes of what the model computes with, and of parameters
};

Widths widthsOf(ElementType type) {
    switch (type) {
    case ElementType::F64:
        return {8, 8};
    case ElementType::BF16:
    case ElementType::F16:
    case ElementType::FP8:
        return {2, 4};
    case ElementType::F32:
    case ElementType::TF32:
        break;
    }
    return {4, 4};
}

double number(std::int64_t value) {
    return static_cast<double>(value);
}

// Sets of activation buffers of the stage that has most, and layers of the stage that has fewest.
double slotsOf(const RunConfig& c) {
    switch (c.schedule) {
    case pipeline::ScheduleKind::GPipe:
        return number(c.microBatches);
    case pipeline::ScheduleKind::OneFOneB:
        return std::min(number(c.microBatches), number(c.parallel.pipeline));
    case pipeline::ScheduleKind::Interleaved:
    case pipeline::ScheduleKind::Serial:
        break;
    }
    return 1;
}

double layersOf(const RunConfig& c) {
    return number(c.model.layers / c.parallel.pipeline);
}

double parameterBytes(const RunConfig& c) {
    const Widths width = widthsOf(c.type);
    const double h = number(c.model.hidden);
    const double tensor = number(c.parallel.tensor);
    const double mlp = number(c.model.mlpHidden()) * number(c.model.mlpBlocks() + 1);
    const double count
        = (layersOf(c) * h * (4 * h + mlp) + (c.parallel.pipeline == 1 ? number(c.model.vocab) * h : 0))
        / tensor;
    const double replicas = c.distributedOptimizer ? number(c.parallel.data) * number(c.parallel.context) : 1;
    const double narrow = width.element < width.wide ? width.element : 0;
    return count * (width.wide * (2 + 2 / replicas) + narrow); // values, gradients, two moments
}

double activationBytes(const RunConfig& c) {
    const double tensor = number(c.parallel.tensor);
    const double rows = number(c.model.seqLen) * number(c.microBatch) / number(c.parallel.context);
    const double h = number(c.model.hidden);
    const double shard = rows * h / (c.sequenceParallel ? tensor : 1);
    const double mlp = number(c.model.mlpHidden()) * number(c.model.mlpBlocks() + 1) / tensor;
    const double attention = c.model.recompute == model::Recompute::None ? 4 * h / tensor : 0;
    const double layer
        = c.model.recompute == model::Recompute::Full ? shard : 2 * shard + rows * (2 * h + mlp + attention);
    const double logits = c.parallel.pipeline == 1 ? rows * number(c.model.vocab) / tensor : 0;
    return slotsOf(c) * (layersOf(c) * layer + logits) * widthsOf(c.type).element;
}

double tokensOfText(const RunConfig& c) {
    if (c.dataFile.empty()) {
        return number(c.corpusTokens);
    }
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(c.dataFile, failure);
    return failure ? 0 : static_cast<double>(bytes / data::tokenBytes(c.dataFormat));
}

// The smaller of the memory built in and what a container may use.
double memoryOfMachine() {
    const double built
        = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    double allowed = 0;
    std::ifstream file("/sys/fs/cgroup/memory.max");
    return file >> allowed && allowed > 0 ? std::min(built, allowed) : built;
}

std::string gibibytes(double bytes) {
    return bytes < 1e6 * kGiB ? fmt::format("{:.1f} GiB", bytes / kGiB)
                              : fmt::format("{:.1e} GiB", bytes / kGiB);
}

} // namespace

MachineSizes machineSizes(runtime::Backend backend) {
    const auto host = static_cast<double>(runtime::DeviceOptions{}.memoryBytes);
    return {backend == runtime::Backend::Host ? host : kLargestGpu, memoryOfMachine()};
}

MachineSizes leastNeed(const RunConfig& c) {
    const double text = 4 * tokensOfText(c);
    const double vocab = number(c.corpusVocab);
    const double table = c.dataFile.empty() ? 8 * vocab * vocab * vocab : 0;
    const double parts = number(c.parallel.pipeline) * number(c.virtualStages);
    const double instructions
        = 2 * parts * number(c.microBatches) * static_cast<double>(sizeof(pipeline::Instruction));
    const bool wholeStep = c.graphs.mode == graphs::GraphMode::Manual
        && (c.graphFull || (c.graphCycle && c.passScope == graphs::Scope::Cycle));
    const double nodes = wholeStep ? number(c.microBatches) * layersOf(c) * kNodesOfALayer * kNodeBytes : 0;
    return {parameterBytes(c) + activationBytes(c) + text, text + table + instructions + nodes};
}

std::string sizeProblem(const RunConfig& config, const MachineSizes& machine) {
    const MachineSizes need = leastNeed(config);
    if (need.device > machine.device) {
        return fmt::format(
            "the run needs at least {} of device memory a rank and a device has {}: make --layers, "
            "--hidden, --mlp-hidden, --padded-vocab, --seq-len, --micro-batch-size or "
            "--corpus-tokens (or the file of --data) smaller, or spread it over more ranks",
            gibibytes(need.device),
            config.backend == runtime::Backend::Host ? gibibytes(machine.device) : "less");
    }
    const int ranks = config.modelledComm ? 1 : config.parallel.world();
    if (need.host * ranks > machine.host) {
        return fmt::format(
            "the run needs at least {} of the host's memory for {} rank{} and the machine has {}: "
            "make --micro-batches, --layers, --vocab or --corpus-tokens smaller",
            gibibytes(need.host * ranks), ranks, ranks == 1 ? "" : "s", gibibytes(machine.host));
    }
    return {};
}

} // namespace gdt::train
