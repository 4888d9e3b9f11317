// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_segment.h"
#include "comm/world.h"
#include "runtime/version.h"
#include "train/fault_setup.h"
#include "train/launcher.h"
#include "train/marks.h"
#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace gdt::train {

namespace {

constexpr int kUnusable = 3; // no device, or a file that cannot be used

// A folder that this program made for the ranks to meet in, and not one that the user has chosen.
bool isOurs(const std::string& folder) {
    const std::filesystem::path path(folder);
    std::error_code failure;
    return path.filename().string().starts_with("reference-trainer-")
        && path.parent_path() == std::filesystem::temp_directory_path(failure);
}

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
    options.agreement = config.agreement;
    options.rank = ranks.rank();
    options.size = ranks.worldSize();
    options.strict = config.strictComm;
    options.gpu = config.gpu;
    options.timeoutNs = config.commTimeoutSeconds * 1'000'000'000;
    communicators.world = comm::createWorld(options, error);
    const bool met
        = communicators.world != nullptr && communicators.split(ranks, config.model.tiedHead, error);
    if (met && ranks.rank() == 0 && isOurs(config.rendezvous)) {
        static_cast<void>(::rmdir(config.rendezvous.c_str())); // nobody else is left to do it after a kill
    }
    return met;
}

int fail(int rank, const std::string& sentence) {
    fmt::print(stderr, "reference-trainer: rank {}: {}\n", rank, sentence);
    return 1;
}

int unusable(int rank, const std::string& sentence) {
    static_cast<void>(fail(rank, sentence));
    return kUnusable;
}

// What failed here is another rank's doing. That rank, or the launcher that saw it die, has more to say; the
// launcher then ends this one.
bool launcherSpeaks() {
    constexpr int kPauses = 200;
    for (int i = 0; i < kPauses && !stopRequested(); ++i) {
        comm::pauseMs(10);
    }
    return stopRequested();
}

// Why a rank ends, said by the first one that knows.
struct Ending {
    int status;
    std::string sentence;
    bool ofAnother = false; ///< rank's doing
};

int sayAndEnd(const Ending& ending, int rank, const parallel::RankCommunicators& communicators) {
    const bool silent = ending.ofAnother && launcherSpeaks();
    if (!silent && (communicators.world == nullptr || communicators.world->claimsLastWord())) {
        static_cast<void>(fail(rank, ending.sentence));
    }
    return ending.status;
}

Ending endingOf(runtime::Status status, const parallel::RankCommunicators& communicators) {
    if (const std::string error = communicators.error(); !error.empty()) {
        return {1, error, error.find(comm::kHasEnded) != std::string::npos};
    }
    if (status == runtime::Status::OutOfMemory) {
        return {kUnusable,
            "the device has too little memory for this run: make --layers, --hidden, --seq-len or "
            "--micro-batch-size smaller, or spread it over more ranks"};
    }
    const runtime::Failure& where = runtime::lastFailure();
    return {1,
        fmt::format("{} ({}) in {} at {}:{}", runtime::statusText(status), runtime::statusName(status),
            where.expression, where.file, where.line)};
}

template <class T>
Ending endingOf(
    const Trainer<T>& trainer, runtime::Status status, const parallel::RankCommunicators& communicators) {
    if (const std::string& refusal = trainer.graphManager().refusal(); !refusal.empty()) {
        return {1, refusal};
    }
    // Whatever a dead peer makes fail is its doing, the agreement on a checkpoint too.
    if (!trainer.problem().empty() && !(trainer.othersProblem() && !communicators.error().empty())) {
        return {kUnusable, trainer.problem(), trainer.othersProblem()};
    }
    return endingOf(status, communicators);
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
        return sayAndEnd(endingOf(trainer, status, communicators), ranks.rank(), communicators);
    }
    if (!config.saveFolder.empty()) {
        std::signal(SIGINT, stopOnSignal);
        std::signal(SIGTERM, stopOnSignal);
    }
    if (const runtime::Status status = trainer.train(); !runtime::ok(status)) {
        return sayAndEnd(endingOf(trainer, status, communicators), ranks.rank(), communicators);
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
    const runtime::Versions versions = runtime::versions(config.backend);
    if (const std::string problem = runtime::versionProblem(versions); !problem.empty()) {
        if (std::getenv(kNoVersionCheck) == nullptr) {
            return unusable(rank, problem);
        }
        fmt::print(stderr, "reference-trainer: rank {}: {}; going on, because {} is set\n", rank, problem,
            kNoVersionCheck);
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
