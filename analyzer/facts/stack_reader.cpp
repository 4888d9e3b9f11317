// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/stack_reader.h"

#include "analyzer/base/text.h"

#include <algorithm>
#include <array>

namespace gd::facts {
namespace {

std::string_view fileName(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool isCudaModule(std::string_view module) {
    const std::string_view name = fileName(module);
    return base::globMatch("libcuda*", name) || base::globMatch("libcudart*", name);
}

template <std::size_t N>
bool matchesAny(const std::array<std::string_view, N>& patterns, std::string_view text) {
    return std::any_of(patterns.begin(), patterns.end(),
        [&](std::string_view pattern) { return base::globMatch(pattern, text); });
}

bool isInstalledPackage(std::string_view file) {
    return base::globMatch("*/site-packages/*", file) || base::globMatch("*/dist-packages/*", file);
}

// The frames that rules/frames.txt skips by default; here they only decide what is "the same place" and
// whether a stack shows the job's code at all.
bool isLibraryFrame(const Frame& frame) {
    static constexpr std::array<std::string_view, 24> kModules{"libcuda*", "libcudart*", "libcudnn*",
        "libcublas*", "libcusolver*", "libcusparse*", "libcufft*", "libcurand*", "libcupti*", "libnvrtc*",
        "libtorch*", "libc10*", "libnccl*", "libpython*", "libgraphdoctor*", "libstdc++*", "libc.so*",
        "libpthread*", "libgcc_s*", "libgomp*", "ld-linux*", "python", "python3*", "_C.*"};
    static constexpr std::array<std::string_view, 8> kFunctions{"gdt::runtime::*", "gdt::kernels::*",
        "gdt::comm::*", "at::*", "c10::*", "torch::*", "std::*", "libcudart_static_*"};
    static constexpr std::array<std::string_view, 8> kFiles{"*/site-packages/torch/*",
        "*/dist-packages/torch/*", "*/site-packages/triton/*", "*/dist-packages/triton/*", "<frozen *",
        "<string>", "<eval_with_key>*", "*/torchinductor_*/*"};
    static constexpr std::array<std::string_view, 2> kOwnFiles{"*/lib/python3*", "*/lib64/python3*"};
    return matchesAny(kModules, fileName(frame.module)) || matchesAny(kFunctions, frame.function)
        || matchesAny(kFiles, frame.file)
        || (matchesAny(kOwnFiles, frame.file) && !isInstalledPackage(frame.file));
}

const Frame* firstUserFrame(const std::vector<Frame>& frames) {
    const auto found = std::find_if(
        frames.begin(), frames.end(), [](const Frame& frame) { return !isLibraryFrame(frame); });
    return found == frames.end() ? nullptr : &*found;
}

bool sameFunction(const Frame& a, const Frame& b) {
    return a.function.empty() || b.function.empty()
        ? a.address == b.address && a.address != 0
        : a.function == b.function && a.module == b.module && a.file == b.file;
}

// Without parameters and anonymous namespaces: "serve::answer" of "serve::(anonymous
// namespace)::answer(Service&)".
std::string shortFunction(std::string name) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    for (std::size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous, at))
        name.erase(at, kAnonymous.size());
    int depth = 0; // of a template's arguments
    for (std::size_t i = 1; i < name.size(); ++i) {
        depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
        const bool isCall
            = name[i] == '(' && name.compare(i, 2, "()") == 0 && name.substr(0, i).ends_with("operator");
        if (isCall)
            ++i;
        else if (name[i] == '(' && depth == 0)
            return name.substr(0, i);
    }
    return name;
}

bool sameCall(const Frame& a, const Frame& b) {
    return sameFunction(a, b) && a.address == b.address && a.line == b.line;
}

std::size_t commonFrames(const std::vector<Frame>& a, const std::vector<Frame>& b) {
    std::size_t depth = 0;
    while (depth < a.size() && depth < b.size()) {
        const Frame& left = a[a.size() - 1 - depth];
        const Frame& right = b[b.size() - 1 - depth];
        if (!sameFunction(left, right))
            break;
        ++depth;
        if (!sameCall(left, right))
            break;
    }
    return depth;
}

} // namespace

Result<StackReader> StackReader::open(Db& db) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT language, function, file, line, module, address FROM stack_frame "
                   "WHERE stack_id = ? ORDER BY language, position"));
    return StackReader(std::move(select));
}

Result<const Stack*> StackReader::read(std::int64_t stackId) {
    const auto [entry, isNew] = m_stacks.try_emplace(stackId);
    if (!isNew || stackId == 0)
        return &entry->second;
    m_select.bind(1, stackId);
    while (true) {
        GD_TRY_ASSIGN(const bool more, m_select.step());
        if (!more)
            break;
        Frame frame;
        frame.function = m_select.text(1);
        frame.file = m_select.text(2);
        frame.line = m_select.int64(3);
        frame.module = m_select.text(4);
        frame.address = m_select.int64(5);
        (m_select.text(0) == "python" ? entry->second.python : entry->second.native)
            .push_back(std::move(frame));
    }
    m_select.reset();
    return &entry->second;
}

Result<std::optional<std::string>> StackReader::jobPlace(std::int64_t stackId) {
    GD_TRY_ASSIGN(const Stack* stack, read(stackId));
    const Frame* frame = userFrame(*stack);
    if (frame == nullptr || frame->file.empty())
        return std::optional<std::string>();
    return std::optional(
        fmt::format("{}:{} in {}", frame->file, frame->line, shortFunction(frame->function)));
}

const Frame* userFrame(const Stack& stack) {
    if (const Frame* frame = firstUserFrame(stack.python))
        return frame;
    return firstUserFrame(stack.native);
}

bool isInTool(const Stack& stack) {
    static constexpr std::array<std::string_view, 6> kTools{
        "libgraphdoctor*", "libcupti*", "libToolsInjection*", "libnsys*", "*Interceptor*", "libnvperf*"};
    for (const Frame& frame : stack.native) {
        if (isCudaModule(frame.module))
            continue;
        const std::string_view name = fileName(frame.module);
        return std::any_of(kTools.begin(), kTools.end(),
            [&](std::string_view pattern) { return base::globMatch(pattern, name); });
    }
    return false;
}

bool mentions(const Stack& stack, std::initializer_list<const char*> words) {
    const auto has = [&](const Frame& frame) {
        return std::any_of(words.begin(), words.end(), [&](const char* word) {
            return frame.function.find(word) != std::string::npos
                || frame.file.find(word) != std::string::npos || frame.module.find(word) != std::string::npos;
        });
    };
    return std::any_of(stack.python.begin(), stack.python.end(), has)
        || std::any_of(stack.native.begin(), stack.native.end(), has);
}

std::optional<std::size_t> commonDepth(const Stack& a, const Stack& b) {
    if (!a.python.empty() && !b.python.empty())
        return commonFrames(a.python, b.python);
    if (!a.native.empty() && !b.native.empty())
        return commonFrames(a.native, b.native);
    return std::nullopt;
}

} // namespace gd::facts
