// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/markov_corpus.h"
#include "graphs/graph_manager.h"
#include "train/graph_memory.h"
#include "train/run_config.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace gdt::train {

/// What the report says of the device.
struct DeviceFacts {
    std::size_t bytes = 0; ///< taken by this rank
    double peakRate = 0; ///< of the GPU, operations a second in the run's format; 0 when not known
    int gpus = 1; ///< that the ranks share
    std::function<std::size_t()> usedBytes; ///< of the device at this moment, by everybody
};

/// What the run says while it goes: progress lines for people on stdout and, with --log, one JSON object a
/// line. Numbers in the log have 17 digits, so that two runs can be compared bit for bit. Only rank 0 writes.
class RunReport {
public:
    RunReport(const RunConfig& config, int rank);
    ~RunReport();
    RunReport(const RunReport&) = delete;
    RunReport& operator=(const RunReport&) = delete;

    /// Empty, or one sentence why the log file cannot be written.
    [[nodiscard]] const std::string& problem() const { return m_problem; }
    /// False when the log file could not hold everything, which was said on stderr.
    [[nodiscard]] bool logComplete() const { return m_logComplete; }

    /// `corpus` is null when the text comes from a file, whose entropy nobody knows. The first step is
    /// `firstStep`.
    void begin(const data::MarkovCorpus* corpus, std::int64_t parameters, const DeviceFacts& device,
        std::int64_t firstStep);
    /// What graphs need and may have; once, when graphs are on.
    void plan(const MemoryPlan& plan);
    /// A graph was made and has frozen these buffers.
    void held(const graphs::GraphKey& key, const std::vector<GraphMemory::Held>& held);
    /// How each step got onto the device, in order; called when it is queued.
    void queued(graphs::RunKind kind);
    /// The first step was seen to have finished just now; called before its record comes.
    void firstCompleted() { m_completed.push_back(std::chrono::steady_clock::now()); }
    /// The next step, in order, has finished, so long after the one before; likewise.
    void completed(std::chrono::nanoseconds sinceLast) {
        m_completed.push_back(m_completed.back() + sinceLast);
    }
    /// Steps that were queued and not yet seen to finish.
    [[nodiscard]] std::int64_t inFlight() const {
        return static_cast<std::int64_t>(m_kinds.size()) - static_cast<std::int64_t>(m_completed.size());
    }
    /// Records of the next steps, in order.
    void finished(const std::vector<optim::StepRecord>& records);
    /// Wall time of a step in the fastest interval so far, 0 before the first.
    [[nodiscard]] double fastestStepSeconds() const { return m_fastestStepSeconds; }
    void transition(const graphs::Transition& transition);
    /// A checkpoint of so many finished steps is in its place; the run ends with it when `stops`.
    void saved(std::int64_t steps, bool stops);
    void end(std::uint64_t parameterHash, const graphs::RunCounts& counts);

private:
    /// Whether the loss has a floor to be compared with.
    [[nodiscard]] bool showsEntropy() const { return m_entropyRate > 0 && !m_config.modelledComm; }
    void logLine(const std::string& line);
    void endLog();
    /// Seconds since begin() at which the step of this index was seen to have finished.
    [[nodiscard]] double finishedAt(std::size_t index) const;
    void logTimes(std::size_t steps); ///< of the last so many steps
    void progress(const optim::StepRecord& last, std::int64_t steps);

    const RunConfig& m_config;
    int m_rank;
    bool m_speaks;
    std::FILE* m_log = nullptr;
    bool m_logComplete = true;
    std::string m_problem;
    double m_entropyRate = 0;
    std::function<std::size_t()> m_usedBytes;
    double m_attainable = 0;
    double m_fastestStepSeconds = 0;
    double m_utilisationPerToken = 0; // times tokens a second; 0 when the peak is not known
    std::int64_t m_first = 0;
    std::int64_t m_done = 0;
    std::vector<graphs::RunKind> m_kinds;
    std::vector<double> m_losses;
    std::vector<std::chrono::steady_clock::time_point> m_completed; // from the first step on
    std::chrono::steady_clock::time_point m_start;
    std::chrono::steady_clock::time_point m_begin;
    std::chrono::steady_clock::time_point m_last;
};

} // namespace gdt::train
