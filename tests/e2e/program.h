// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/temporary_folder.h"

#include <nlohmann/json.hpp>

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gd::test {

// How a program ended and what it wrote.
struct ProgramEnd {
    int status = 0; // 128 + n for signal n
    std::string out;
    std::string err;
};

// A folder of one test, with a private spool and tmpfs folder below it: tests that run side by side do not
// see each other's leftovers. Programs run in it, without variables of a launcher.
class Workshop {
public:
    Workshop();

    std::filesystem::path path(const std::string& name) const { return m_folder.path() / name; }
    std::string file(const std::string& name) const { return path(name).string(); }
    // Folders of runs whose trace was not made yet.
    std::vector<std::filesystem::path> spools() const;
    // Variables added to, or (value "") taken from, the environment of programs.
    std::map<std::string, std::string> variables;

    ProgramEnd run(const std::vector<std::string>& command) const;
    // Starts it in the background with its streams in files `out` and `err` of this folder.
    pid_t start(const std::vector<std::string>& command) const;
    static int wait(pid_t pid); // status, 128 + n for signal n

private:
    TemporaryFolder m_folder;
};

std::string readFile(const std::filesystem::path& path);

// graphdoctor with these arguments.
std::vector<std::string> graphdoctor(const std::vector<std::string>& arguments);
// graphdoctor run OPTIONS -- reference-trainer ARGUMENTS.
std::vector<std::string> recordTrainer(
    const std::vector<std::string>& options, const std::vector<std::string>& arguments);

// The JSON report of a trace; a failure of the calling test when there is none.
nlohmann::json reportOf(const Workshop& shop, const std::string& trace);

} // namespace gd::test
