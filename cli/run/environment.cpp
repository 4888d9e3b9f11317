// SPDX-License-Identifier: Apache-2.0
#include "cli/run/environment.h"

#include "collector/raw/spool_name.h"

#include <algorithm>
#include <fstream>
#include <iterator>

extern char** environ;

namespace gd::run {
namespace {

// A name of the dynamic string table: nothing else in an object file stands alone between two NULs like it.
bool hasName(const std::string& bytes, std::string_view name, bool prefixOnly) {
    std::string wanted(1, '\0');
    wanted += name;
    if (!prefixOnly)
        wanted += '\0';
    return bytes.find(wanted) != std::string::npos;
}

// Ours first; once, also in a run inside a run.
std::string pythonPathWith(const std::string& entry, const std::string& before) {
    if (before.empty() || before == entry || before.starts_with(entry + ":"))
        return before.empty() ? entry : before;
    return entry + ":" + before;
}

// Sets a variable unless another tool uses it.
void claim(EnvironmentPlan& plan, const ReadVariable& read, const std::string& name, const std::string& path,
    const std::string& lost) {
    const auto before = read(name);
    if (before && *before != path)
        plan.kept.push_back({name, *before, lost});
    else
        plan.set.emplace_back(name, path);
}

} // namespace

CollectorLibrary inspectCollector(const std::string& path) {
    CollectorLibrary library;
    library.path = path;
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return library;
    library.exists = true;
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    library.cudaInjection = hasName(bytes, "InitializeInjection", false);
    library.nvtxInjection = hasName(bytes, "InitializeInjectionNvtx2", false);
    library.ncclPlugin = hasName(bytes, "ncclProfiler_v", true);
    library.runtimeTable = hasName(bytes, "graphdoctor_runtime_attach", false);
    return library;
}

std::string posixPattern(std::string_view text) {
    std::string out;
    bool inBrackets = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string_view two = text.substr(i, 2);
        if (two == "\\d") {
            out += inBrackets ? "0-9" : "[0-9]";
            ++i;
        } else if (two.size() == 2 && two[0] == '\\') {
            out += two;
            ++i;
        } else if (!inBrackets && text.substr(i, 3) == "(?:") {
            out += '(';
            i += 2;
        } else {
            inBrackets = inBrackets ? text[i] != ']' : text[i] == '[';
            out += text[i];
        }
    }
    return out;
}

EnvironmentPlan planEnvironment(const EnvironmentWish& wish, const ReadVariable& read) {
    EnvironmentPlan plan;
    plan.set = {{raw::kEnvSpool, wish.spool}, {raw::kEnvLevel, wish.level}, {raw::kEnvParentHost, wish.host},
        {raw::kEnvRemoteSpool, wish.remoteSpool}};
    const auto setOrUnset = [&](const char* name, const std::string& value) {
        if (value.empty())
            plan.unset.emplace_back(name);
        else
            plan.set.emplace_back(name, value);
    };
    setOrUnset(raw::kEnvStepRange, posixPattern(wish.stepRange));
    setOrUnset(raw::kEnvWindow, wish.windows);
    plan.set.emplace_back(raw::kEnvFrameworkHooks, wish.frameworkHooks);
    plan.set.emplace_back(raw::kEnvWithProfiler, wish.withProfiler);
    if (!wish.pythonEntry.empty())
        plan.set.emplace_back(
            "PYTHONPATH", pythonPathWith(wish.pythonEntry, read("PYTHONPATH").value_or("")));
    setOrUnset(raw::kEnvWindowRange, posixPattern(wish.windowRange));
    setOrUnset(raw::kEnvLimits, wish.limits);
    setOrUnset(raw::kEnvOverhead, wish.overhead);
    const std::string& library = wish.collector.path;
    if (wish.collector.runtimeTable)
        plan.set.emplace_back(raw::kEnvTool, library);
    if (wish.collector.cudaInjection)
        claim(plan, read, "CUDA_INJECTION64_PATH", library, "CUDA calls and device activity");
    if (wish.collector.nvtxInjection)
        claim(plan, read, "NVTX_INJECTION64_PATH", library, "NVTX ranges");
    if (wish.collector.ncclPlugin)
        claim(plan, read, "NCCL_PROFILER_PLUGIN", library, "NCCL calls seen by the profiler plugin");
    return plan;
}

std::vector<std::string> environmentWith(const EnvironmentPlan& plan) {
    const auto isOurs = [&](std::string_view name) {
        return std::any_of(plan.set.begin(), plan.set.end(), [&](const auto& v) { return v.first == name; })
            || std::find(plan.unset.begin(), plan.unset.end(), name) != plan.unset.end();
    };
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        if (!isOurs(text.substr(0, text.find('='))))
            out.emplace_back(text);
    }
    for (const auto& [name, value] : plan.set)
        out.push_back(name + "=" + value);
    return out;
}

std::string shellWord(std::string_view text) {
    constexpr std::string_view kPlain
        = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos)
        return std::string(text);
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else
            out += c;
    }
    return out + "'";
}

std::string shellCommand(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words)
        out += (out.empty() ? "" : " ") + shellWord(word);
    return out;
}

} // namespace gd::run
