// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/program.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

extern char** environ;

namespace gd::test {
namespace {

namespace fs = std::filesystem;

// Launcher variables would make siblings of what is none; those of other tools would be kept.
constexpr const char* kForeign[] = {"SLURM_", "OMPI_", "PMIX_", "PMI_", "TORCHELASTIC_", "MASTER_",
    "RANK=", "LOCAL_", "WORLD_SIZE=", "GRAPHDOCTOR_",
    "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "NCCL_PROFILER_PLUGIN=", "NO_COLOR="};

std::vector<std::string> environmentOf(const std::map<std::string, std::string>& variables) {
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text(*entry);
        const std::string name = text.substr(0, text.find('='));
        const bool foreign = std::any_of(std::begin(kForeign), std::end(kForeign),
            [&](const char* prefix) { return text.starts_with(prefix); });
        if (!foreign && !variables.contains(name))
            out.push_back(text);
    }
    for (const auto& [name, value] : variables) {
        if (!value.empty())
            out.push_back(name + "=" + value);
    }
    return out;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (const std::string& text : texts)
        out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
}

pid_t spawn(const fs::path& folder, const std::map<std::string, std::string>& variables,
    const std::vector<std::string>& command, const fs::path& out, const fs::path& err) {
    const std::vector<std::string> environment = environmentOf(variables);
    const std::vector<char*> argv = pointers(command);
    const std::vector<char*> envp = pointers(environment);
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    // As from a terminal, also where the tests run in the background of a shell, which ignores them.
    for (const int number : {SIGINT, SIGQUIT, SIGHUP})
        signal(number, SIG_DFL);
    const int outFd = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int errFd = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int inFd = open("/dev/null", O_RDONLY);
    if (chdir(folder.c_str()) != 0 || dup2(inFd, 0) < 0 || dup2(outFd, 1) < 0 || dup2(errFd, 2) < 0)
        _exit(99);
    for (const int fd : {inFd, outFd, errFd})
        close(fd);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(98);
}

} // namespace

Workshop::Workshop() {
    fs::create_directory(path("tmp"));
    fs::create_directory(path("run"));
    variables = {{"GRAPHDOCTOR_SPOOL_DIR", file("tmp")}, {"XDG_RUNTIME_DIR", file("run")}};
}

std::vector<fs::path> Workshop::spools() const {
    std::vector<fs::path> out;
    std::error_code error;
    for (const auto& user : fs::directory_iterator(path("tmp"), error)) {
        for (const auto& spool : fs::directory_iterator(user.path(), error)) {
            if (spool.is_directory())
                out.push_back(spool.path());
        }
    }
    return out;
}

ProgramEnd Workshop::run(const std::vector<std::string>& command) const {
    static int number = 0;
    const fs::path out = path("out." + std::to_string(++number));
    const fs::path err = path("err." + std::to_string(number));
    ProgramEnd end;
    end.status = wait(spawn(m_folder.path(), variables, command, out, err));
    end.out = readFile(out);
    end.err = readFile(err);
    return end;
}

pid_t Workshop::start(const std::vector<std::string>& command) const {
    return spawn(m_folder.path(), variables, command, path("out"), path("err"));
}

int Workshop::wait(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) { }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string readFile(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

std::vector<std::string> graphdoctor(const std::vector<std::string>& arguments) {
    std::vector<std::string> out = {GD_GRAPHDOCTOR};
    out.insert(out.end(), arguments.begin(), arguments.end());
    return out;
}

std::vector<std::string> recordTrainer(
    const std::vector<std::string>& options, const std::vector<std::string>& arguments) {
    std::vector<std::string> out = graphdoctor({"run"});
    out.insert(out.end(), options.begin(), options.end());
    out.insert(out.end(), {"--", GD_TRAINER, "--backend", "host"});
    out.insert(out.end(), arguments.begin(), arguments.end());
    return out;
}

nlohmann::json reportOf(const Workshop& shop, const std::string& trace) {
    const ProgramEnd end = shop.run(graphdoctor({"report", trace, "--format", "json", "--fail-on", "never"}));
    EXPECT_EQ(end.status, 0) << end.err;
    auto json = nlohmann::json::parse(end.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << end.out.substr(0, 500);
    return json;
}

} // namespace gd::test
