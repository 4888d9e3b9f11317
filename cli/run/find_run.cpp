// SPDX-License-Identifier: Apache-2.0
#include "cli/run/find_run.h"

#include "collector/raw/control_page.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gd::run {
namespace {

namespace fs = std::filesystem;

FoundRun look(const fs::path& spool, const std::string& host) {
    FoundRun found{spool, runsIn(spool), livingProcesses(spool, host)};
    std::erase_if(found.runs, [](const RunEntry& run) { return !run.alive; });
    return found;
}

bool isAlive(const FoundRun& run) {
    return !run.runs.empty() || !run.processes.empty();
}

std::optional<std::int64_t> numberOf(const std::string& word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && value > 0 ? std::optional(value)
                                                                                 : std::nullopt;
}

bool isMeant(const FoundRun& run, const std::string& word) {
    const std::optional<std::int64_t> pid = numberOf(word);
    const std::string output = fs::absolute(word).lexically_normal().string();
    return std::any_of(run.runs.begin(), run.runs.end(), [&](const RunEntry& entry) {
        return entry.pid == pid || entry.output == output;
    }) || (pid && std::find(run.processes.begin(), run.processes.end(), *pid) != run.processes.end());
}

std::string nameOf(const FoundRun& run) {
    return run.runs.empty() ? run.spool.string()
                            : fmt::format("{} (pid {})", run.runs.front().output, run.runs.front().pid);
}

std::string listOf(const std::vector<FoundRun>& runs) {
    std::string out;
    for (const FoundRun& run : runs)
        out += (out.empty() ? "" : ", ") + nameOf(run);
    return out;
}

Result<FoundRun> inFolder(const fs::path& folder, const std::string& host) {
    GD_TRY(ensurePrivateFolder(folder));
    if (!fs::exists(folder / raw::kControlPageName))
        return fail(
            ErrorCode::badInput, "{} is no spool folder of a run: it has no control page", folder.string());
    FoundRun found = look(folder, host);
    // A folder without any run was made by --print-env: its processes may still come.
    if (!isAlive(found) && !runsIn(folder).empty())
        return fail(ErrorCode::notFound, "the job of {} has ended", folder.string());
    return found;
}

} // namespace

Result<FoundRun> findRun(const fs::path& user, const std::string& word, const std::string& host) {
    std::error_code error;
    for (const fs::path& folder : {fs::absolute(word), user / word}) {
        if (!word.empty() && fs::is_directory(folder, error))
            return inFolder(folder, host);
    }
    std::vector<FoundRun> living;
    std::vector<FoundRun> meant;
    for (const fs::path& spool : spoolsOf(user)) {
        FoundRun run = look(spool, host);
        if (!isAlive(run))
            continue;
        if (isMeant(run, word))
            meant.push_back(run);
        living.push_back(std::move(run));
    }
    if (meant.size() > 1)
        return fail(ErrorCode::badInput, "{} is {} running jobs: {}; their spool folders tell them apart",
            word, meant.size(), listOf(meant));
    if (meant.empty() && living.empty())
        return fail(ErrorCode::notFound, "{}: no job of this user is being recorded on this host", word);
    if (meant.empty())
        return fail(ErrorCode::notFound,
            "{} is neither the trace, the pid nor the spool folder of a running job; there is {}", word,
            listOf(living));
    GD_TRY(ensurePrivateFolder(meant.front().spool));
    return std::move(meant.front());
}

} // namespace gd::run
