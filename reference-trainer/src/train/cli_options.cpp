// SPDX-License-Identifier: Apache-2.0
#include "train/cli_options.h"

#include "comm/shm_communicator.h"
#include "kernels/optimizer.h"
#include "train/option_range.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>

namespace gdt::train {

namespace {

void addModelOptions(CLI::App& app, RunConfig& config, RawOptions& raw) {
    const auto positive = within(std::int64_t{1}, std::int64_t{1} << 24);
    const char* group = "Model";
    app.add_option("--layers", config.model.layers, "Transformer layers")
        ->group(group)
        ->check(within(std::int64_t{1}, std::int64_t{1} << 14));
    app.add_option("--hidden", config.model.hidden, "Width of the residual stream")
        ->group(group)
        ->check(positive);
    app.add_option("--heads", config.model.heads, "Attention heads")->group(group)->check(positive);
    app.add_option("--seq-len", config.model.seqLen, "Tokens of a sequence")->group(group)->check(positive);
    app.add_option("--vocab", config.corpusVocab, "Tokens of the language")
        ->group(group)
        ->check(within(std::int64_t{2}, std::int64_t{512}));
    app.add_option("--padded-vocab", raw.paddedVocab, "Rows of the embedding, 0 for as many as --vocab")
        ->group(group)
        ->check(within(std::int64_t{0}, std::int64_t{1} << 24));
    app.add_option("--norm", raw.norm, "Normalisation")->group(group)->check(CLI::IsMember({"layer", "rms"}));
    app.add_option(
           "--activation", raw.activation, "Of the MLP; swiglu: one half of its first matrix gates the other")
        ->group(group)
        ->check(CLI::IsMember({"gelu", "swiglu"}));
    app.add_option("--mlp-hidden", config.model.mlpWidth,
           "Inner width of the MLP; 0: 4 * hidden, with swiglu 8/3 * hidden rounded up to a multiple of 64")
        ->group(group)
        ->check(within(std::int64_t{0}, std::int64_t{1} << 24));
    app.add_option("--dropout", config.model.dropout, "Share of each residual branch that is dropped")
        ->group(group)
        ->check(within(0.0, 0.99));
    app.add_option("--embedding-dropout", config.model.embeddingDropout, "Share of the embedding's output")
        ->group(group)
        ->check(within(0.0, 0.99));
    app.add_option(
           "--attention-dropout", config.model.attentionDropout, "Share of the attention probabilities")
        ->group(group)
        ->check(within(0.0, 0.99));
    app.add_flag("--untied", raw.untied, "Give the output projection a matrix of its own")->group(group);
    app.add_option("--recompute", raw.recompute,
           "Computed again in the backward pass instead of kept: nothing, the attention core, or each layer "
           "from its input")
        ->group(group)
        ->check(CLI::IsMember({"none", "selective", "full"}));
    app.add_option("--dtype", raw.dtype,
           "Number format; bf16 and fp16 keep parameters, gradients and moments in fp32 as well, fp16 scales "
           "the loss, fp8 is bf16 whose layers multiply 8-bit factors; the host emulates all three; CUDA "
           "only: tf32, fp32 with products on tensor cores")
        ->group(group)
        ->check(CLI::IsMember({"fp32", "tf32", "fp64", "bf16", "fp16", "fp8"}));
}

void addTrainingOptions(CLI::App& app, RunConfig& config, RawOptions& raw) {
    const auto positive = within(std::int64_t{1}, std::int64_t{1} << 40);
    const char* group = "Training";
    app.add_option("--steps", config.steps, "Optimizer steps")->group(group)->check(positive);
    app.add_option("--micro-batch-size", config.microBatch, "Sequences of a micro-batch")
        ->group(group)
        ->check(positive);
    app.add_option("--micro-batches", config.microBatches, "Micro-batches of a step and rank")
        ->group(group)
        ->check(positive);
    app.add_option("--lr", config.optimizer.peakRate, "Highest learning rate")
        ->group(group)
        ->check(within(1e-12, 1e3));
    app.add_option("--clip", config.optimizer.clipNorm, "Largest gradient norm, 0 for no limit")
        ->group(group)
        ->check(within(0.0, 1e9));
    app.add_option("--loss-scale", raw.lossScale, "First scale of the loss with fp16")
        ->group(group)
        ->check(within(1.0, kernels::kMostLossScale));
    app.add_option("--loss-scale-window", raw.scaleWindow,
           "Steps without overflow until the scale doubles; an overflow halves it and skips the update")
        ->group(group)
        ->check(positive);
    app.add_option("--seed", config.seed, "Seed of parameters, text and sampling")->group(group);
    app.add_option("--corpus-tokens", config.corpusTokens, "Length of the text")
        ->group(group)
        ->check(positive);
    app.add_option("--sharpness", config.sharpness, "Predictability of the text, 0 for none")
        ->group(group)
        ->check(within(0.0, 20.0));
    app.add_option("--data", config.dataFile, "Train on this file instead of the made-up language")
        ->group(group);
    app.add_option("--data-format", raw.dataFormat,
           "What --data holds: text, one token a byte; or little-endian tokens, of a vocabulary of "
           "--padded-vocab")
        ->group(group)
        ->check(CLI::IsMember({"bytes", "uint16", "int32"}));
    app.add_option("--save", config.saveFolder,
           "Write checkpoints here: at the end, and when SIGINT or SIGTERM asks to stop")
        ->group(group);
    app.add_option("--save-interval", config.saveInterval, "Also every so many steps; 0: not")
        ->group(group)
        ->check(within(std::int64_t{0}, std::int64_t{1} << 40));
    app.add_option("--resume", config.resumeFolder,
           "Go on from the latest checkpoint of this folder, bit for bit when all other options are the same")
        ->group(group);
    app.add_option("--backend", raw.backend, "Where kernels run")
        ->group(group)
        ->check(CLI::IsMember({"host", "cuda"}));
    app.add_option("--gpu", config.gpu, "GPU of the CUDA backend; -1: each rank of a host takes the next one")
        ->group(group)
        ->check(within(-1, 1 << 10));
    app.add_option("--host-workers", config.hostWorkers,
           "0: all work runs when the host waits; 1: a worker thread for each stream")
        ->group(group)
        ->check(within(0, 1));
    app.add_option("--rendezvous", config.rendezvous, "Folder where ranks of a launcher find each other")
        ->group(group);
}

void addParallelOptions(CLI::App& app, RunConfig& config, RawOptions& raw) {
    const char* group = "Parallelism (one process a rank; the ranks are tp * cp * dp * pp)";
    const auto ranks = within(1, comm::kMaxShmRanks);
    app.add_option("--tp", config.parallel.tensor, "Tensor-parallel ranks: each layer's matrices are split")
        ->group(group)
        ->check(ranks);
    app.add_flag("--sequence-parallel", config.sequenceParallel,
           "Split norms, dropout and the residual stream over the --tp ranks, too")
        ->group(group);
    app.add_option("--cp", config.parallel.context, "Context-parallel ranks: each sequence is split")
        ->group(group)
        ->check(ranks);
    app.add_option("--cp-layout", raw.ringLayout, "Which part of a sequence a --cp rank holds")
        ->group(group)
        ->check(CLI::IsMember({"zigzag", "contiguous"}));
    app.add_option("--pp", config.parallel.pipeline, "Pipeline stages: the layers are split")
        ->group(group)
        ->check(ranks);
    app.add_option("--schedule", raw.schedule, "Order of the passes of a stage")
        ->group(group)
        ->check(CLI::IsMember({"1f1b", "gpipe", "interleaved", "serial"}));
    app.add_option("--virtual-stages", config.virtualStages, "Model chunks of a stage, for interleaved")
        ->group(group)
        ->check(within(1, 1024));
    app.add_option("--dp", config.parallel.data, "Data-parallel replicas")->group(group)->check(ranks);
    app.add_flag("--zero1", config.distributedOptimizer,
           "Each replica (--dp, --cp) updates its part of the parameters (ZeRO-1)")
        ->group(group);
    app.add_option(
           "--bucket-elements", config.bucketElements, "Gradients of one all-reduce over the replicas")
        ->group(group)
        ->check(within(std::int64_t{1}, std::int64_t{1} << 40));
    app.add_option("--shm-strict", config.strictComm,
           "1: operations that do not fit together are named at once; 0: they hang, as on a GPU")
        ->group(group);
    app.add_option("--comm-timeout", config.commTimeoutSeconds,
           "Seconds that a rank waits for others before it says for what and ends")
        ->group(group)
        ->check(within(std::int64_t{1}, std::int64_t{86400}));
}

void addGraphOptions(CLI::App& app, RunConfig& config, RawOptions& raw) {
    const char* group = "Graphs";
    app.add_option("--graph-mode", raw.mode,
           "eager: kernel by kernel; manual: capture what --graph-scope says; auto: capture each pass "
           "blindly, "
           "broken at communication")
        ->group(group)
        ->check(CLI::IsMember({"eager", "manual", "auto"}));
    app.add_option("--graph-scope", raw.scopes,
           "What one graph holds: of the passes cycle (all of a step), microbatch (one), layer, segment "
           "(between tensor-parallel collectives) or hop (of the attention ring); optimizer; or full for "
           "cycle and optimizer in one")
        ->group(group)
        ->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check(CLI::IsMember({"cycle", "microbatch", "layer", "segment", "hop", "optimizer", "full"}));
    app.add_option("--graph-key", raw.graphKey,
           "One graph of the passes for a whole step (cycle), for each set of buffers (slot) or for each "
           "micro-batch; default cycle, with graphs within a pass slot")
        ->group(group)
        ->default_str("")
        ->check(CLI::IsMember({"cycle", "slot", "microbatch"}));
    app.add_option("--tp-comm", raw.tensorComm,
           "Tensor-parallel collectives of a captured pass: inside the graph, on a forked branch of it, or "
           "outside between two graphs")
        ->group(group)
        ->check(CLI::IsMember({"inside", "fork", "outside"}));
    app.add_option("--graph-warmup", config.graphs.warmupRuns, "Eager steps before a capture")
        ->group(group)
        ->check(within(std::int64_t{1}, std::int64_t{1} << 20));
    app.add_option(
           "--max-graphs", raw.maxGraphs, "Graphs kept at a time; default 16, with graphs within a pass 4096")
        ->group(group)
        ->default_str("")
        ->check(within(std::size_t{1}, std::size_t{4096}));
    app.add_option("--graph-cache-size", raw.graphCacheMiB,
           "Limit in MiB of the memory that graphs may hold; by default what they need. A graph whose "
           "buffers do "
           "not fit runs eagerly, in memory of its own")
        ->group(group)
        ->default_str("")
        ->check(within(0.0, 1e9));
    app.add_flag("--graph-report", config.graphReport,
           "Say for each graph which buffers it holds, and when they live")
        ->group(group);
    app.add_option("--graph-policy", raw.policy,
           "When the cache is full: fallback: newcomers run eagerly; lru: the one used longest ago goes; "
           "lfu: "
           "the one used least often")
        ->group(group)
        ->check(CLI::IsMember({"fallback", "lru", "lfu"}));
}

void addGuardOption(CLI::App& app, RawOptions& raw) {
    app.add_option("--guard", raw.guard,
           "When a step has another shape than its graph: strict (default): a graph for each shape; "
           "megatron: "
           "the run ends; none: the graph is replayed as it is. Only with --graph-mode manual")
        ->group("Graphs")
        ->default_str("")
        ->check(CLI::IsMember({"strict", "megatron", "none"}));
}

void addOutputOptions(CLI::App& app, RunConfig& config, RawOptions& raw) {
    app.add_option("--log", config.logFile, "Write one JSON object a line: each step, each change of a graph")
        ->group("Output");
    app.add_option("--log-interval", config.logInterval, "Steps between two reads of the loss")
        ->group("Output")
        ->check(within(std::int64_t{1}, optim::StepState::kHistory));
    app.add_flag("--quiet", config.quiet, "No progress lines")->group("Output");
    app.add_flag("--no-marks", raw.noMarks, "Emit no ranges and marks for tools")->group("Output");
    app.add_option("--fault", raw.faults, "ID[:PARAM][@step=N][@layer=N][@rank=N][@harmless], repeatable")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->default_str("")
        ->group("Faults");
    app.add_flag("--list-faults", raw.listFaults, "List the faults and leave")->group("Faults");
    app.add_flag("--json", raw.json, "With --list-faults: as JSON")->group("Faults");
}

} // namespace

void addOptions(CLI::App& app, RunConfig& config, RawOptions& raw) {
    addModelOptions(app, config, raw);
    addTrainingOptions(app, config, raw);
    addParallelOptions(app, config, raw);
    addGraphOptions(app, config, raw);
    addGuardOption(app, raw);
    raw.emulation.add(app, config);
    addOutputOptions(app, config, raw);
}

std::string agreementOf(const CLI::App& app) {
    // Each rank's own affair: where its files and devices are, what it says, what is made to go wrong on it.
    static constexpr std::string_view kOwn[]
        = {"--help", "--data", "--save", "--resume", "--gpu", "--host-workers", "--rendezvous",
            "--shm-strict", "--comm-timeout", "--graph-report", "--host-op-overhead-us", "--host-stalls",
            "--log", "--quiet", "--no-marks", "--fault", "--list-faults", "--json"};
    std::string lines;
    for (const CLI::Option* option : app.get_options()) {
        const std::string name = "--" + option->get_single_name();
        if (std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn)) {
            continue;
        }
        lines += name;
        if (option->count() == 0) {
            lines += " " + option->get_default_str();
        } else {
            for (const std::string& value : option->reduced_results()) {
                lines += " " + value;
            }
        }
        lines += "\n";
    }
    return lines;
}

} // namespace gdt::train
