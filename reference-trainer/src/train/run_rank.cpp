// SPDX-License-Identifier: Apache-2.0
#include "comm/world.h"
#include "train/launcher.h"
#include "train/marks.h"
#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace gdt::train {

namespace {

constexpr int kUnusable = 3; // no device, or a file that cannot be used

bool connect(const RunConfig& config, const parallel::ParallelState& ranks,
    parallel::RankCommunicators& communicators, std::string& error) {
    if (ranks.worldSize() == 1) {
        return true;
    }
    std::error_code failure;
    std::filesystem::create_directories(config.rendezvous, failure);
    if (failure) {
        error = fmt::format("--rendezvous {}: {}", config.rendezvous, failure.message());
        return false;
    }
    comm::WorldOptions options;
    options.backend = config.backend;
    options.folder = config.rendezvous;
    options.rank = ranks.rank();
    options.size = ranks.worldSize();
    options.strict = config.strictComm;
    options.gpu = config.gpu;
    options.timeoutNs = config.commTimeoutSeconds * 1'000'000'000;
    communicators.world = comm::createWorld(options, error);
    return communicators.world != nullptr && communicators.split(ranks, config.model.tiedHead, error);
}

int fail(int rank, const std::string& sentence) {
    fmt::print(stderr, "reference-trainer: rank {}: {}\n", rank, sentence);
    return 1;
}

int unusable(int rank, const std::string& sentence) {
    static_cast<void>(fail(rank, sentence));
    return kUnusable;
}

int failed(int rank, runtime::Status status, const parallel::RankCommunicators& communicators) {
    if (const std::string error = communicators.error(); !error.empty()) {
        return fail(rank, error);
    }
    const runtime::Failure& where = runtime::lastFailure();
    return fail(rank,
        fmt::format("{} ({}) in {} at {}:{}", runtime::statusText(status), runtime::statusName(status),
            where.expression, where.file, where.line));
}

// Once the user knows that the job has failed: what is given back next may wait for peers.
void leave(const parallel::RankCommunicators& communicators) {
    if (communicators.world != nullptr) {
        communicators.world->leave();
    }
}

struct LeaveUnlessTrained {
    const parallel::RankCommunicators& communicators;
    bool trained = false;
    ~LeaveUnlessTrained() {
        if (!trained) {
            leave(communicators);
        }
    }
};

void stopOnSignal(int) {
    requestStop();
}

template <class T>
int train(const RunConfig& config, const parallel::ParallelState& ranks,
    const parallel::RankCommunicators& communicators) {
    RunReport report(config, ranks.rank());
    if (!report.problem().empty()) {
        return unusable(ranks.rank(), report.problem());
    }
    Trainer<T> trainer(config, ranks, communicators, report);
    LeaveUnlessTrained end{communicators};
    if (const runtime::Status status = trainer.setUp(); !runtime::ok(status)) {
        return trainer.problem().empty() ? failed(ranks.rank(), status, communicators)
                                         : unusable(ranks.rank(), trainer.problem());
    }
    if (!config.saveFolder.empty()) {
        std::signal(SIGINT, stopOnSignal);
        std::signal(SIGTERM, stopOnSignal);
    }
    if (const runtime::Status status = trainer.train(); !runtime::ok(status)) {
        if (const std::string& refusal = trainer.graphManager().refusal(); !refusal.empty()) {
            return fail(ranks.rank(), refusal);
        }
        return trainer.problem().empty() ? failed(ranks.rank(), status, communicators)
                                         : unusable(ranks.rank(), trainer.problem());
    }
    end.trained = true;
    return report.logComplete() ? 0 : kUnusable;
}

} // namespace

int runRank(const RunConfig& wanted, int rank) {
    RunConfig config = wanted;
    if (config.gpu < 0) {
        config.gpu = config.localRank % std::max(1, runtime::deviceCount(config.backend));
    }
    if (const std::string problem = runtime::backendProblem(config.backend, config.gpu); !problem.empty()) {
        return unusable(rank, problem);
    }
    setMarks(config.marks);
    runtime::setHostPace(config.hostPace);
    const parallel::ParallelState ranks(config.parallel, rank);
    parallel::RankCommunicators communicators;
    std::string error;
    if (config.modelledComm) {
        config.modelledGroups
            = communicators.makeModelled(ranks, config.model.tiedHead, config.backend, config.network);
    } else if (!connect(config, ranks, communicators, error)) {
        const int status = fail(rank, error);
        leave(communicators);
        return status;
    }
    switch (config.type) {
    case ElementType::F64:
        return train<double>(config, ranks, communicators);
    case ElementType::BF16:
    case ElementType::FP8:
        return train<kernels::BFloat16>(config, ranks, communicators);
    case ElementType::F16:
        return train<kernels::Float16>(config, ranks, communicators);
    case ElementType::F32:
    case ElementType::TF32:
        break;
    }
    return train<float>(config, ranks, communicators);
}

} // namespace gdt::train
