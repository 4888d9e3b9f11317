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
constexpr std::size_t kMaxInside = 2;

std::string_view fileName(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// What pip writes into bin/ for a package's command calls that package and nothing else.
bool isPythonCommand(const Location& frame) {
    const std::string_view folder = std::string_view(frame.file).substr(0, frame.file.rfind('/'));
    return frame.language == "python" && fileName(folder) == "bin"
        && frame.file.find('/') != std::string::npos;
}

// The job's own frame first, then what it called in a package, then the callers.
std::vector<Location> inOrder(std::vector<Location> frames, std::size_t firstOwn) {
    std::vector<Location> ordered;
    if (firstOwn < frames.size()) {
        ordered.push_back(std::move(frames[firstOwn]));
        for (std::size_t i = 0; i < std::min(firstOwn, kMaxInside); ++i) {
            ordered.push_back(std::move(frames[i]));
            ordered.back().inside = true;
        }
        frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(firstOwn) + 1);
    }
    for (Location& frame : frames) {
        if (ordered.size() < kMaxLocations)
            ordered.push_back(std::move(frame));
    }
    return ordered;
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
        Pattern pattern{Field::module, Kind::skipped, {}};
        for (const auto& [word, kind] :
            {std::pair<std::string_view, Kind>{"keep ", Kind::own}, {"installed ", Kind::installed}}) {
            if (line.starts_with(word)) {
                pattern.kind = kind;
                line = base::trim(line.substr(word.size()));
                break;
            }
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
                R"({}:{}: expected "[keep|installed] module|path|function GLOB", found "{}")", path,
                lineNumber, line);
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
        m_patterns.push_back({field, Kind::skipped, glob});
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

FrameFilter::Kind FrameFilter::kindOf(const Location& frame) const {
    const std::string_view bare = bareFunctionName(frame.function);
    const auto last = std::find_if(m_patterns.rbegin(), m_patterns.rend(),
        [&](const Pattern& pattern) { return matches(pattern, frame, bare); });
    const Kind kind = last == m_patterns.rend() ? Kind::own : last->kind;
    return kind == Kind::own && isPythonCommand(frame) ? Kind::installed : kind;
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
    std::size_t firstOwn = std::string::npos; // among those that are not skipped
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
        const FrameFilter::Kind kind = m_filter->kindOf(frame);
        if (kind == FrameFilter::Kind::own && firstOwn == std::string::npos)
            firstOwn = found.locations.size();
        if (kind != FrameFilter::Kind::skipped)
            found.locations.push_back(std::move(frame));
    }
    m_frames.reset();
    found.locations = inOrder(std::move(found.locations), firstOwn);
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
