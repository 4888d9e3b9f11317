// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/frames.h"

#include "analyzer/base/text.h"
#include "analyzer/rules/text_file.h"

#include <algorithm>
#include <optional>

namespace gd::rules {
namespace {

// Enough to see how the place was reached; a Python training loop is seldom deeper in its own code.
constexpr std::size_t kMaxLocations = 8;

std::string_view fileName(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

} // namespace

std::string_view bareFunctionName(std::string_view demangled) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    std::size_t start = 0;
    int depth = 0;
    for (std::size_t i = 0; i < demangled.size(); ++i) {
        const char c = demangled[i];
        const std::string_view rest = demangled.substr(i);
        // The name of an operator may hold '<', '(' and spaces.
        if (rest.starts_with(":operator") || (i == start && rest.starts_with("operator")))
            return demangled.substr(start);
        if (rest.starts_with(kAnonymous)) {
            i += kAnonymous.size() - 1;
        } else if (c == '<') {
            ++depth;
        } else if (c == '>') {
            --depth;
        } else if (depth == 0 && c == ' ') {
            start = i + 1;
        } else if (depth == 0 && c == '(') {
            return demangled.substr(start, i - start);
        }
    }
    return demangled.substr(start);
}

Result<FrameFilter> FrameFilter::parse(std::string_view text, const std::string& path) {
    FrameFilter result;
    int lineNumber = 0;
    for (const std::string_view raw : base::split(text, '\n')) {
        ++lineNumber;
        std::string_view line = base::trim(raw);
        if (line.empty() || line.starts_with('#'))
            continue;
        Pattern pattern{Field::module, true, {}};
        if (line.starts_with("keep ")) {
            pattern.skip = false;
            line = base::trim(line.substr(5));
        }
        const std::size_t space = line.find(' ');
        const std::string_view field = line.substr(0, space);
        if (space != std::string_view::npos)
            pattern.glob = base::trim(line.substr(space));
        if (field == "path")
            pattern.field = Field::path;
        else if (field == "function")
            pattern.field = Field::function;
        if (pattern.glob.empty() || (field != "module" && field != "path" && field != "function"))
            return fail(ErrorCode::badInput,
                R"({}:{}: expected "[keep] module|path|function GLOB", found "{}")", path, lineNumber, line);
        result.m_patterns.push_back(std::move(pattern));
    }
    return result;
}

Result<FrameFilter> FrameFilter::load(const std::string& path) {
    GD_TRY_ASSIGN(const std::string text, readTextFile(path, "list of frames"));
    return parse(text, path);
}

void FrameFilter::append(const FrameFilter& later) {
    m_patterns.insert(m_patterns.end(), later.m_patterns.begin(), later.m_patterns.end());
}

void FrameFilter::skipAlso(const std::string& glob) {
    for (const Field field : {Field::module, Field::path, Field::function})
        m_patterns.push_back({field, true, glob});
}

bool FrameFilter::matches(const Pattern& pattern, const Location& frame, std::string_view bareFunction) {
    switch (pattern.field) {
    case Field::module: {
        const bool whole = pattern.glob.find('/') != std::string::npos;
        return !frame.module.empty()
            && base::globMatch(pattern.glob, whole ? std::string_view(frame.module) : fileName(frame.module));
    }
    case Field::path:
        return (!frame.file.empty() && base::globMatch(pattern.glob, frame.file))
            || (!frame.module.empty() && base::globMatch(pattern.glob, frame.module));
    case Field::function:
        return !frame.function.empty()
            && (base::globMatch(pattern.glob, bareFunction) || base::globMatch(pattern.glob, frame.function));
    }
    return false;
}

bool FrameFilter::skips(const Location& frame) const {
    const std::string_view bare = bareFunctionName(frame.function);
    const auto last = std::find_if(m_patterns.rbegin(), m_patterns.rend(),
        [&](const Pattern& pattern) { return matches(pattern, frame, bare); });
    return last != m_patterns.rend() && last->skip;
}

Result<LocationFinder> LocationFinder::open(Db& db, const FrameFilter& filter) {
    GD_TRY_ASSIGN(Statement frames,
        db.prepare("SELECT language, function, file, line, module FROM stack_frame "
                   "WHERE stack_id = ? ORDER BY language = 'python' DESC, position"));
    return LocationFinder(std::move(frames), filter);
}

Result<LocationFinder::Found> LocationFinder::find(base::StackId stack) {
    if (stack.isNone())
        return Found{{}, "no call stack was recorded"};
    if (const auto known = m_known.find(stack); known != m_known.end())
        return known->second;
    Found found;
    std::size_t frames = 0;
    bool isAutograd = false;
    std::string innermost;
    m_frames.bind(1, stack);
    while (true) {
        GD_TRY_ASSIGN(const bool row, m_frames.step());
        if (!row)
            break;
        ++frames;
        Location frame{std::string(m_frames.text(2)), m_frames.int64(3), std::string(m_frames.text(1)),
            std::string(m_frames.text(4)), std::string(m_frames.text(0))};
        isAutograd = isAutograd || frame.function.find("torch::autograd::Engine") != std::string::npos;
        if (innermost.empty() && !frame.function.empty())
            innermost = frame.file.empty()
                ? frame.function
                : fmt::format("{} ({}:{})", frame.function, frame.file, frame.line);
        if (found.locations.size() < kMaxLocations && !m_filter->skips(frame))
            found.locations.push_back(std::move(frame));
    }
    m_frames.reset();
    if (frames == 0)
        found.reason = "the recorded call stack has no frames";
    else if (found.locations.empty() && isAutograd)
        found.reason
            = "the call came from PyTorch's autograd thread, which runs no Python: the line of the forward "
              "pass is not known (torch.autograd.set_detect_anomaly(True) names it where the backward pass "
              "fails)";
    else if (found.locations.empty())
        found.reason = fmt::format("{} in libraries and frameworks{}",
            frames == 1 ? "the only frame of the call stack lies"
                        : fmt::format("all {} frames of the call stack lie", frames),
            innermost.empty() ? "" : ", the innermost in " + innermost);
    m_known.emplace(stack, found);
    return found;
}

} // namespace gd::rules
