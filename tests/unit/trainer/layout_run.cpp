// SPDX-License-Identifier: Apache-2.0
#include "layout_run.h"

#include "comm/shm_communicator.h"
#include "tests/support/temporary_folder.h"
#include "train/trainer.h"

#include <cstdio>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

namespace gdt::test {

namespace {

using train::RunConfig;

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

template <class V> void put(std::FILE* file, const V* values, std::size_t count) {
    if (std::fwrite(values, sizeof(V), count, file) != count) {
        std::abort();
    }
}

template <class V> V get(std::FILE* file) {
    V value{};
    if (std::fread(&value, sizeof(V), 1, file) != 1) {
        return {};
    }
    return value;
}

void putText(std::FILE* file, const std::string& text) {
    const std::size_t size = text.size();
    put(file, &size, 1);
    put(file, text.data(), size);
}

std::string getText(std::FILE* file) {
    std::string text(get<std::size_t>(file), '\0');
    return std::fread(text.data(), 1, text.size(), file) == text.size() ? text : std::string();
}

std::string fileOf(const std::string& folder, int rank) {
    return folder + "/rank" + std::to_string(rank);
}

// One rank's part of the file that the parent reads: problem, records, tensors.
template <class T> void trainRank(const RunConfig& config, int rank, const std::string& folder) {
    const File file(std::fopen(fileOf(folder, rank).c_str(), "wb"));
    const parallel::ParallelState ranks(config.parallel, rank);
    parallel::RankCommunicators communicators;
    std::string error;
    if (ranks.worldSize() > 1) {
        comm::ShmOptions options;
        options.folder = folder;
        options.rank = rank;
        options.size = ranks.worldSize();
        communicators.world = comm::createShmCommunicator(options, error);
        if (communicators.world == nullptr || !communicators.split(ranks, config.model.tiedHead, error)) {
            putText(file.get(), error);
            return;
        }
    }
    train::RunReport report(config, rank);
    train::Trainer<T> trainer(config, ranks, communicators, report);
    if (!runtime::ok(trainer.setUp()) || !runtime::ok(trainer.train())) {
        putText(file.get(), "rank " + std::to_string(rank) + " failed: " + communicators.error());
        return;
    }
    putText(file.get(), "");
    putText(file.get(), "graphs " + std::to_string(trainer.graphManager().cache().graphs()));
    const std::size_t records = trainer.records().size();
    put(file.get(), &records, 1);
    put(file.get(), trainer.records().data(), records);
    const kernels::Wide<T>* moments
        = config.distributedOptimizer ? nullptr : trainer.optimizer().firstMoment();
    const std::size_t tensors = trainer.layout().parameters().size();
    put(file.get(), &tensors, 1);
    for (const model::Parameter& p : trainer.layout().parameters()) {
        putText(file.get(), p.name);
        put(file.get(), &p.shard, 1);
        for (std::int64_t i = 0; i < p.count; ++i) {
            const double value[2]
                = {static_cast<double>(trainer.parameters()[static_cast<std::size_t>(p.offset + i)]),
                    moments != nullptr ? static_cast<double>(moments[p.offset + i]) : 0.0};
            put(file.get(), value, 2);
        }
    }
}

void trainRankAs(const RunConfig& config, int rank, const std::string& folder) {
    switch (config.type) {
    case train::ElementType::F64:
        return trainRank<double>(config, rank, folder);
    case train::ElementType::BF16:
    case train::ElementType::FP8:
        return trainRank<kernels::BFloat16>(config, rank, folder);
    case train::ElementType::F16:
        return trainRank<kernels::Float16>(config, rank, folder);
    default:
        return trainRank<float>(config, rank, folder);
    }
}

class Gatherer {
public:
    explicit Gatherer(RunResult& result)
        : m_result(result) { }

    void add(int rank, const std::string& path) {
        const File file(std::fopen(path.c_str(), "rb"));
        if (file == nullptr) {
            note("rank " + std::to_string(rank) + " left no file");
            return;
        }
        note(getText(file.get()));
        m_result.runs.push_back(getText(file.get()));
        const auto records = get<std::size_t>(file.get());
        for (std::size_t i = 0; i < records; ++i) {
            const auto record = get<optim::StepRecord>(file.get());
            if (rank == 0) {
                m_result.records.push_back(record);
            }
        }
        const auto tensors = get<std::size_t>(file.get());
        for (std::size_t t = 0; t < tensors; ++t) {
            addTensor(file.get());
        }
    }

private:
    void note(const std::string& problem) {
        if (m_result.problem.empty()) {
            m_result.problem = problem;
        }
    }

    void addTensor(std::FILE* file) {
        const std::string name = getText(file);
        const auto shard = get<model::Shard>(file);
        const auto whole = static_cast<std::size_t>(shard.wholeCount());
        std::vector<double>& values = m_result.parameters[name];
        std::vector<double>& moments = m_result.moments[name];
        std::vector<bool>& seen = m_seen[name];
        values.resize(whole);
        moments.resize(whole);
        seen.resize(whole);
        for (std::int64_t i = 0; i < shard.count(); ++i) {
            const auto at = static_cast<std::size_t>(shard.globalIndex(i));
            const auto value = get<double>(file);
            moments[at] = get<double>(file);
            if (seen[at] && values[at] != value) {
                note("ranks differ in " + name);
            }
            values[at] = value;
            seen[at] = true;
        }
    }

    RunResult& m_result;
    std::map<std::string, std::vector<bool>> m_seen;
};

} // namespace

RunResult trainRanks(const RunConfig& config) {
    const gd::test::TemporaryFolder folder;
    const std::string path = folder.path();
    std::vector<pid_t> children;
    for (int rank = 0; rank < config.parallel.world(); ++rank) {
        const pid_t child = ::fork();
        if (child == 0) {
            trainRankAs(config, rank, path);
            std::_Exit(0);
        }
        children.push_back(child);
    }
    RunResult result;
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        if (!WIFEXITED(status)) {
            result.problem = "a rank was ended by a signal";
        }
    }
    Gatherer gatherer(result);
    for (int rank = 0; rank < config.parallel.world(); ++rank) {
        gatherer.add(rank, fileOf(path, rank));
    }
    return result;
}

RunConfig tinyRun() {
    RunConfig config;
    config.type = train::ElementType::F64;
    config.model.layers = 8;
    config.model.hidden = 16;
    config.model.heads = 8;
    config.model.seqLen = 16;
    config.microBatch = 1;
    config.microBatches = 4;
    config.steps = 5;
    config.corpusTokens = 4096;
    config.optimizer.warmupSteps = 2;
    config.optimizer.decaySteps = 5;
    config.quiet = true;
    config.graphs.mode = graphs::GraphMode::Eager;
    return config;
}

} // namespace gdt::test
