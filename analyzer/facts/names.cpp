// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace gd::facts {
namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
        [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

bool containsAny(std::string_view text, std::span<const std::string_view> words) {
    const std::string name = lower(text);
    return std::any_of(words.begin(), words.end(),
        [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

// The word stands alone: no letter before or after it ("eval" in "run_eval 3", not in "medieval").
bool hasWord(std::string_view text, std::span<const std::string_view> words) {
    const std::string name = lower(text);
    const auto isLetter = [](char c) { return c >= 'a' && c <= 'z'; };
    for (const std::string_view word : words) {
        for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
            const std::size_t end = at + word.size();
            if ((at == 0 || !isLetter(name[at - 1])) && (end == name.size() || !isLetter(name[end])))
                return true;
        }
    }
    return false;
}

} // namespace

bool isCommKernel(std::string_view kernelName) {
    // What a host runtime calls its messages; kernels of a device have longer names.
    static constexpr std::array<std::string_view, 5> kNames{
        "send", "recv", "broadcast", "reduce", "alltoall"};
    const std::string name = lower(kernelName);
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end())
        return true;
    static constexpr std::array<std::string_view, 9> kWords{"nccl", "allreduce", "all_reduce",
        "reducescatter", "reduce_scatter", "allgather", "all_gather", "sendrecv", "all_to_all"};
    return containsAny(kernelName, kWords);
}

bool isOptimizerKernel(std::string_view kernelName) {
    static constexpr std::array<std::string_view, 6> kParts{
        "adam", "adagrad", "rmsprop", "sgd", "optimizer", "fusedlion"};
    static constexpr std::array<std::string_view, 4> kWords{"lamb", "lion", "muon", "lars"};
    return containsAny(kernelName, kParts) || hasWord(kernelName, kWords);
}

bool readsWhereDataSay(std::string_view kernelName) {
    static constexpr std::array<std::string_view, 7> kParts{
        "index", "gather", "scatter", "embed", "nll_loss", "multinomial", "lookup"};
    // Of a template's arguments, type names such as "TrivialOffsetCalculator<1, IndexType>" say nothing.
    return containsAny(kernelName.substr(0, kernelName.find('<')), kParts);
}

bool isExclusionRange(std::string_view rangeName) {
    static constexpr std::array<std::string_view, 12> kWords{"checkpoint", "checkpointing", "ckpt", "save",
        "eval", "evaluate", "evaluation", "valid", "validate", "validation", "log", "logging"};
    return hasWord(rangeName, kWords);
}

bool isDataRange(std::string_view rangeName) {
    // "batch" alone often encloses all the work of one.
    static constexpr std::array<std::string_view, 9> kWords{"dataloader", "data_loader", "dataload", "loader",
        "get_batch", "next_batch", "load_batch", "fetch_batch", "data_wait"};
    return hasWord(rangeName, kWords) || lower(rangeName) == "data";
}

} // namespace gd::facts
