// SPDX-License-Identifier: Apache-2.0
#include "train/run_report.h"

#include "train/model_rate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace gdt::train {

namespace {

const char* kindName(graphs::RunKind kind) {
    switch (kind) {
    case graphs::RunKind::Eager:
        return "eager";
    case graphs::RunKind::WarmUp:
        return "warm-up";
    case graphs::RunKind::Replay:
        return "replay";
    case graphs::RunKind::Fallback:
        return "fallback";
    }
    return "unknown";
}

const char* modeName(graphs::GraphMode mode) {
    switch (mode) {
    case graphs::GraphMode::Eager:
        return "eager";
    case graphs::GraphMode::Manual:
        return "manual";
    case graphs::GraphMode::Auto:
        return "auto";
    }
    return "unknown";
}

// JSON has no other numbers than finite ones.
std::string numberText(double value) {
    return std::isfinite(value) ? fmt::format("{:.17g}", value) : "null";
}

// Standard output may be a full disk or a closed pipe: no reason to stop training.
template <class... Values> void say(fmt::format_string<Values...> format, Values&&... values) {
    const std::string text = fmt::format(format, std::forward<Values>(values)...);
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
}

} // namespace

RunReport::RunReport(const RunConfig& config, int rank)
    : m_config(config)
    , m_rank(rank)
    , m_speaks(rank == 0 || config.modelledComm)
    , m_start(std::chrono::steady_clock::now())
    , m_last(m_start) {
    if (m_speaks && !config.logFile.empty()) {
        m_log = std::fopen(config.logFile.c_str(), "w");
        if (m_log == nullptr) {
            m_problem = fmt::format("--log {}: {}", config.logFile, std::strerror(errno));
        }
    }
}

RunReport::~RunReport() {
    if (m_log != nullptr) {
        std::fclose(m_log);
    }
}

void RunReport::logLine(const std::string& line) {
    if (m_log == nullptr) {
        return;
    }
    const std::string text = line + "\n";
    if (std::fwrite(text.data(), 1, text.size(), m_log) != text.size()) {
        endLog();
    }
}

// The first failure ends the log and nothing else.
void RunReport::endLog() {
    const bool flushed = std::fflush(m_log) == 0 && std::ferror(m_log) == 0;
    const int cause = errno;
    std::fclose(std::exchange(m_log, nullptr));
    if (!flushed) {
        m_logComplete = false;
        fmt::print(stderr, "reference-trainer: --log {}: {}; the log is incomplete, training goes on\n",
            m_config.logFile, std::strerror(cause));
    }
}

void RunReport::begin(const data::MarkovCorpus* corpus, std::int64_t parameters, const DeviceFacts& device,
    std::int64_t firstStep) {
    if (device.peakRate > 0) {
        m_utilisationPerToken
            = operationsPerToken(m_config.model, parameters) / (device.peakRate * device.gpus);
    }
    m_last = std::chrono::steady_clock::now();
    m_begin = m_last;
    m_usedBytes = device.usedBytes;
    m_first = firstStep;
    m_done = firstStep;
    if (corpus != nullptr) {
        m_entropyRate = corpus->entropyRate();
        m_attainable = corpus->attainableLoss(m_config.model.seqLen);
    }
    const std::int64_t tokens = m_config.tokensPerStep();
    const int ranks = m_config.parallel.world();
    const char* mode = modeName(m_config.graphs.mode);
    if (m_speaks && !m_config.quiet) {
        say("GPT: {} layers, hidden {}, {} heads, {} parameters, {}; {} tokens a step on {} rank{}; {}; "
            "{:.0f} MiB of device memory a rank\n",
            m_config.model.layers, m_config.model.hidden, m_config.model.heads, parameters,
            elementName(m_config.type), tokens, ranks, ranks == 1 ? "" : "s", mode,
            static_cast<double>(device.bytes) / static_cast<double>(std::size_t{1} << 20));
        if (corpus != nullptr) {
            say("corpus: {} tokens, entropy rate {:.4f} nats a token (order 1: {:.4f}, first "
                "prediction included: {:.4f})\n",
                corpus->vocab(), m_entropyRate, corpus->firstOrderEntropy(), m_attainable);
        } else {
            say("text: {}, vocabulary {}\n", m_config.dataFile, m_config.model.vocab);
        }
        if (m_config.modelledComm) {
            say("MODELLED: this process does the work of rank {} of {} alone; times of communication are "
                "assumptions, losses mean nothing\n",
                m_rank, ranks);
        }
        if (m_config.hostPace.overheadUs > 0) {
            say("EMULATED: each call that queues work costs the host {:g} us more, as under a framework\n",
                m_config.hostPace.overheadUs);
        }
        if (m_config.hostPace.stallProbability > 0) {
            say("EMULATED: the host stalls at {:g} of all calls, for {:g} ms on average\n",
                m_config.hostPace.stallProbability, m_config.hostPace.stallMs);
        }
        for (const std::string& group : m_config.modelledGroups) {
            say("MODELLED {}\n", group);
        }
        if (firstStep > 0) {
            say("resumed after {} steps\n", firstStep);
        }
        std::fflush(stdout);
    }
    nlohmann::ordered_json line{{"event", "begin"}, {"dtype", elementName(m_config.type)},
        {"graph_mode", mode}, {"ranks", ranks}, {"parameters", parameters}, {"device_bytes", device.bytes},
        {"tokens_per_step", tokens}, {"entropy_rate", m_entropyRate}, {"attainable_loss", m_attainable}};
    if (m_config.hostPace.overheadUs > 0) {
        line["emulated_overhead_us"] = m_config.hostPace.overheadUs;
    }
    if (m_config.modelledComm) {
        line["modelled"] = m_config.modelledGroups;
    }
    logLine(line.dump());
}

void RunReport::plan(const MemoryPlan& plan) {
    if (const std::string warning = plan.warning(); !warning.empty()) {
        fmt::print(stderr, "reference-trainer: rank {}: {}\n", m_rank, warning);
    }
    if (m_speaks && !m_config.quiet) {
        say("{}\n", plan.text());
    }
    nlohmann::ordered_json line{{"event", "graph-pool"}, {"needed_bytes", plan.needed()},
        {"activation_bytes", plan.activations}, {"workspace_bytes", plan.workspaces},
        {"static_input_bytes", plan.staticInputs}, {"slots", plan.slots}, {"library_bytes", plan.libraries},
        {"device_total_bytes", plan.device}, {"document_formula_bytes", plan.documentFormula}};
    line["limit_bytes"] = plan.limit ? nlohmann::ordered_json(*plan.limit) : nlohmann::ordered_json(nullptr);
    logLine(line.dump());
}

void RunReport::held(const graphs::GraphKey& key, const std::vector<GraphMemory::Held>& held) {
    if (m_config.graphReport) {
        say("rank {}: graph {} holds {}\n", m_rank, key.text(), heldText(held));
    }
    if (m_log == nullptr) {
        return;
    }
    nlohmann::ordered_json line{{"event", "graph-memory"}, {"key", key.text()}};
    for (const GraphMemory::Held& item : held) {
        nlohmann::ordered_json buffers{{"bytes", item.group.total()}};
        if (item.group.chunk >= 0) {
            buffers["chunk"] = item.group.chunk;
            buffers["slot"] = item.group.slot;
        }
        for (const LiveRange& range : item.live) {
            buffers["live"].push_back(
                {{"micro_batch", range.microBatch}, {"first", range.first}, {"last", range.last}});
        }
        line["buffers"].push_back(buffers);
    }
    logLine(line.dump());
}

void RunReport::queued(graphs::RunKind kind) {
    m_kinds.push_back(kind);
}

void RunReport::finished(const std::vector<optim::StepRecord>& records) {
    if (records.empty()) {
        return;
    }
    for (const optim::StepRecord& record : records) {
        const auto step = static_cast<std::size_t>(m_done++);
        m_losses.push_back(record.loss);
        const std::string scale = m_config.optimizer.scaleWindow == 0
            ? std::string()
            : fmt::format(R"(,"loss_scale":{:.17g},"skipped":{})", record.lossScale, record.skipped != 0);
        logLine(fmt::format(
            R"({{"event":"step","step":{},"loss":{},"grad_norm":{},"rate":{:.17g}{},"run":"{}"}})", step,
            numberText(record.loss), numberText(record.gradNorm), record.learningRate, scale,
            kindName(m_kinds.at(step - static_cast<std::size_t>(m_first)))));
    }
    logTimes(records.size());
    progress(records.back(), static_cast<std::int64_t>(records.size()));
}

// Apart from the steps, whose lines are the same in every run with the same numbers.
void RunReport::logTimes(std::size_t steps) {
    if (m_log == nullptr) {
        return;
    }
    const auto end = static_cast<std::size_t>(m_done - m_first);
    nlohmann::ordered_json line{{"event", "times"}, {"first", m_done - static_cast<std::int64_t>(steps)}};
    for (std::size_t index = end - steps; index < end; ++index) {
        line["at"].push_back(finishedAt(index));
    }
    logLine(line.dump());
}

double RunReport::finishedAt(std::size_t index) const {
    const auto at = index < m_completed.size() ? m_completed[index] : std::chrono::steady_clock::now();
    return std::chrono::duration<double>(at - m_begin).count();
}

void RunReport::progress(const optim::StepRecord& last, std::int64_t steps) {
    // Records come several steps late, and at the end at once: the time is that of the interval's last step.
    const auto index = static_cast<std::size_t>(m_done - m_first) - 1;
    const auto now = index < m_completed.size() ? m_completed[index] : std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - m_last).count();
    m_last = now;
    const double each = seconds / static_cast<double>(steps);
    m_fastestStepSeconds = m_fastestStepSeconds > 0 ? std::min(m_fastestStepSeconds, each) : each;
    if (!m_speaks || m_config.quiet) {
        return;
    }
    const std::int64_t tokens = m_config.tokensPerStep() * steps;
    // In fp64 runs of different layouts agree to twelve digits.
    const int digits = m_config.type == ElementType::F64 ? 12 : 4;
    const std::string entropy = showsEntropy() ? fmt::format("  entropy {:.4f} ({:+.1f} %)", m_entropyRate,
                                    100.0 * (last.loss / m_entropyRate - 1.0))
                                               : std::string();
    const double rate = static_cast<double>(tokens) / seconds;
    const std::string utilisation = m_utilisationPerToken > 0
        ? fmt::format("  MFU {:.1f} %", 100.0 * m_utilisationPerToken * rate)
        : std::string();
    const std::string scale = m_config.optimizer.scaleWindow == 0
        ? std::string()
        : fmt::format("  scale {:.0f}{}", last.lossScale, last.skipped != 0 ? ", update skipped" : "");
    say("{}step {:5}/{}  loss {:.{}f}{}  norm {:.3f}{}  {:.0f} tokens/s{}  {:.0f} MiB  {}\n",
        m_config.modelledComm ? "MODELLED " : "", m_done, m_config.steps, last.loss, digits, entropy,
        last.gradNorm, scale, rate, utilisation,
        static_cast<double>(m_usedBytes()) / static_cast<double>(std::size_t{1} << 20),
        kindName(m_kinds.at(static_cast<std::size_t>(m_done - m_first) - 1)));
    std::fflush(stdout);
}

void RunReport::transition(const graphs::Transition& t) {
    using graphs::EntryState;
    const bool gaveUp = t.to == EntryState::Failed
        || (t.to == EntryState::EagerFallback && t.reason == graphs::Reason::CacheFull);
    if (gaveUp) {
        fmt::print(stderr, "reference-trainer: rank {}, step {}: no graph for {} ({}); it runs eagerly\n",
            m_rank, m_first + static_cast<std::int64_t>(m_kinds.size()), t.key.text(), t.reasonText());
    }
    if (m_log == nullptr || t.to == EntryState::Replaying || t.from == EntryState::Replaying) {
        return;
    }
    nlohmann::ordered_json line{{"event", "graph"},
        {"step", m_first + static_cast<std::int64_t>(m_kinds.size())}, {"key", t.key.text()},
        {"from", graphs::stateName(t.from)}, {"to", graphs::stateName(t.to)},
        {"reason", graphs::reasonName(t.reason)}};
    if (t.nodes > 0) {
        line["nodes"] = t.nodes;
    }
    if (!t.detail.empty()) {
        line["detail"] = t.detail;
    }
    logLine(line.dump());
}

void RunReport::saved(std::int64_t steps, bool stops) {
    logLine(fmt::format(R"({{"event":"checkpoint","steps":{},"stops":{}}})", steps, stops));
    if (m_speaks && (!m_config.quiet || stops)) {
        say("checkpoint of {} steps in {}{}\n", steps, m_config.saveFolder,
            stops ? "; stopped as asked, --resume goes on from there" : "");
        std::fflush(stdout);
    }
}

void RunReport::end(std::uint64_t parameterHash, const graphs::RunCounts& counts) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
    const std::size_t last = std::min<std::size_t>(m_losses.size(), 20);
    const double sum
        = std::accumulate(m_losses.end() - static_cast<std::ptrdiff_t>(last), m_losses.end(), 0.0);
    const double mean = last == 0 ? 0 : sum / static_cast<double>(last);
    if (m_speaks && !m_config.quiet) {
        const std::string entropy = showsEntropy()
            ? fmt::format(", {:+.1f} % from the entropy rate", 100.0 * (mean / m_entropyRate - 1.0))
            : std::string();
        say("{}{} steps in {:.1f} s; mean loss of the last {}: {:.4f}{}\n",
            m_config.modelledComm ? "MODELLED " : "", m_done - m_first, seconds, last, mean, entropy);
    }
    logLine(fmt::format(
        R"({{"event":"end","steps":{},"seconds":{:.3f},"final_loss":{:.17g},"entropy_rate":{:.17g},"parameter_hash":"{:016x}","graphs":{{"warm_ups":{},"captures":{},"failures":{},"replays":{},"fallbacks":{}}}}})",
        m_done, seconds, mean, m_entropyRate, parameterHash, counts.warmUps, counts.captures, counts.failures,
        counts.replays, counts.fallbacks));
    if (m_log != nullptr) {
        endLog();
    }
}

} // namespace gdt::train
