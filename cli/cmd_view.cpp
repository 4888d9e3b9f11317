// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/text.h"
#include "cli/common.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace gd::cli {
namespace {

constexpr std::string_view kViewExamples
    = "  graphdoctor view job.gdt\n"
      "  graphdoctor view node1.gdt node2.gdt\n"
      "  graphdoctor view --compare before.gdt after.gdt\n"
      "  graphdoctor view job.gdt --view finding:1\n"
      "  graphdoctor view job.gdt --screenshot gap.png --view finding:1 --size 1600x900 --theme dark";

// The viewer beside this program, else the first one in PATH.
std::optional<std::string> findViewer() {
    std::vector<std::string> folders;
    std::error_code error;
    folders.push_back(std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string());
    if (const char* path = std::getenv("PATH")) {
        for (const std::string_view folder : base::split(path, ':'))
            folders.emplace_back(folder.empty() ? "." : folder);
    }
    for (const std::string& folder : folders) {
        std::string candidate = folder + "/graphdoctor-gui";
        if (std::filesystem::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0)
            return candidate;
    }
    return std::nullopt;
}

Result<int> startViewer(Arguments arguments) {
    const auto viewer = findViewer();
    if (!viewer)
        return fail(ErrorCode::notFound,
            "the viewer graphdoctor-gui is neither beside graphdoctor nor in PATH; it is built where the "
            "package qt6-base-dev (Qt 6.4 or newer) is installed");
    arguments.insert(arguments.begin(), *viewer);
    std::vector<char*> words;
    for (std::string& argument : arguments)
        words.push_back(argument.data());
    words.push_back(nullptr);
    ::execv(viewer->c_str(), words.data());
    return fail(ErrorCode::io, "{} cannot be started: {}", *viewer, std::strerror(errno));
}

} // namespace

int cmdView(const Arguments& arguments) {
    CLI::App app;
    describe(app, "view", "look at a trace on a timeline", kViewExamples);
    std::string screenshot, size, theme, language;
    std::vector<std::string> traces, views;
    bool compare = false;
    app.add_option(
        "TRACE", traces, "trace file (.gdt), or a spool folder; several: of ranks of one job, shown as one");
    app.add_flag("--compare", compare, "two runs, BASE and NEW, one above the other with what differs");
    app.add_option("--screenshot", screenshot, "draw into this PNG file and exit; needs no display")
        ->type_name("FILE.png");
    app.add_option("--view", views,
           "what to show first: finding:N (1 = the one to fix first), step:N, ranks:N "
           "(the ranks of step N beside each other) or range:A..B with times such as 1.5s..2s; may be "
           "repeated")
        ->type_name("WHAT")
        ->allow_extra_args(false); // one value each time
    app.add_option("--size", size, "size of the window or picture in pixels")->type_name("WxH");
    app.add_option("--theme", theme, "light or dark; default: as the desktop")
        ->check(CLI::IsMember({"light", "dark"}));
    app.add_option("--language", language, "en or zh_CN; default: by the locale");
    return runCommand(app, arguments, "view", [&] { return startViewer(arguments); });
}

} // namespace gd::cli
