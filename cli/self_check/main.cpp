// SPDX-License-Identifier: Apache-2.0
// The job of `graphdoctor run --self-check`: uses everything that a recording can see, each part in a process
// of its own, so that one that crashes or hangs costs no other.
//
//     self_check_job RESULTS SCRIPT PYTHON      runs all parts; a line each goes to the file RESULTS:
//                                               part, pid, kind, detail, remedy, separated by tabs
//     self_check_job PART [NCCL_LIBRARY]        one part: kind, detail and remedy on stdout
#include "cli/self_check/part.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gd::self_check;

namespace {

// Importing PyTorch from a cold disk takes its time; everything else needs a second.
constexpr unsigned kPartSeconds = 20;
constexpr unsigned kTorchSeconds = 90;

struct Part {
    std::string name;
    std::vector<std::string> command;
    unsigned seconds = kPartSeconds;
};

void say(const Outcome& outcome) {
    constexpr const char* kKinds[] = {"ran", "absent", "failed"};
    std::printf("%s\t%s\t%s\n", kKinds[static_cast<int>(outcome.kind)], outcome.detail.c_str(),
        outcome.remedy.c_str());
}

[[noreturn]] void become(const Part& part, int output, int execError) {
    setpgid(0, 0); // so that what it starts ends with it
    prctl(PR_SET_PDEATHSIG, SIGKILL); // a Ctrl-C no longer reaches it
    dup2(output, STDOUT_FILENO);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    alarm(part.seconds); // outlives the exec
    std::vector<char*> words;
    for (const std::string& word : part.command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(execError, &error, sizeof error);
    _exit(127);
}

// A pipe whose ends no other program inherits.
struct Pipe {
    int ends[2] = {-1, -1};
    Pipe() { isOpen = pipe2(ends, O_CLOEXEC) == 0; }
    ~Pipe() {
        close(0);
        close(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close(int end) {
        if (ends[end] >= 0)
            ::close(ends[end]);
        ends[end] = -1;
    }
    bool isOpen = false;
};

// The line of a part whose program did not begin; empty when it did.
std::string notBegun(const std::string& program, int execError) {
    int error = 0;
    ssize_t got = 0;
    do
        got = read(execError, &error, sizeof error); // ends when the program begins
    while (got < 0 && errno == EINTR);
    if (got != sizeof error)
        return "";
    if (error != ENOENT && error != ENOTDIR)
        return "failed\t" + program + " cannot be executed: " + std::strerror(error) + "\t";
    const bool exists = program.find('/') != std::string::npos && access(program.c_str(), F_OK) == 0;
    return exists ? "failed\tthe interpreter that the first line of " + program + " names was not found\t"
                  : "absent\t" + program + " was not found\t";
}

bool hasEnded(pid_t pid) {
    siginfo_t info = {};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0
        && info.si_pid == pid;
}

struct Heard {
    std::string text;
    bool inTime = false;
};

// What the part prints until it ends. Not until its output is closed: what it started may keep that open.
Heard listen(pid_t pid, int fd, unsigned seconds) {
    using Clock = std::chrono::steady_clock;
    constexpr unsigned kGraceSeconds = 2; // its alarm comes first
    constexpr int kLookMs = 10;
    const auto until = Clock::now() + std::chrono::seconds(seconds + kGraceSeconds);
    Heard heard;
    bool isOpen = true;
    while (Clock::now() < until) {
        heard.inTime = hasEnded(pid);
        pollfd wait{fd, POLLIN, 0};
        const bool any = poll(&wait, isOpen ? 1 : 0, heard.inTime ? 0 : kLookMs) > 0;
        char piece[512];
        const ssize_t got = any ? read(fd, piece, sizeof piece) : 0;
        if (got > 0)
            heard.text.append(piece, static_cast<std::size_t>(got));
        else if (heard.inTime)
            break;
        isOpen = isOpen && (!any || got > 0);
    }
    return heard;
}

// The last line of what the part printed: a library may have printed before it.
std::string lastLine(std::string text) {
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

std::string end(const Part& part, int status, bool inTime) {
    if (!inTime || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
        return "failed\tdid not end within " + std::to_string(part.seconds) + " s\t";
    if (WIFSIGNALED(status))
        return "failed\tended by signal " + std::to_string(WTERMSIG(status)) + "\t";
    return "failed\tended with status " + std::to_string(WEXITSTATUS(status)) + "\t";
}

// Runs the part and returns its line; `output` gets what it said.
std::string run(const Part& part, std::string& output) {
    Pipe said;
    Pipe error;
    if (!said.isOpen || !error.isOpen)
        return part.name + "\t0\tfailed\tno pipe could be made\t";
    const pid_t pid = fork();
    if (pid == 0)
        become(part, said.ends[1], error.ends[1]);
    said.close(1);
    error.close(1);
    if (pid < 0)
        return part.name + "\t0\tfailed\tno process could be made\t";
    setpgid(pid, pid); // whichever of the two comes first
    if (const std::string problem = notBegun(part.command.front(), error.ends[0]); !problem.empty()) {
        waitpid(pid, nullptr, 0);
        return part.name + "\t" + std::to_string(pid) + "\t" + problem;
    }
    const Heard heard = listen(pid, said.ends[0], part.seconds);
    said.close(0);
    kill(-pid, SIGKILL);
    output = lastLine(heard.text);
    int status = 0;
    waitpid(pid, &status, 0);
    const bool ended = heard.inTime && WIFEXITED(status) && WEXITSTATUS(status) == 0 && !output.empty();
    return part.name + "\t" + std::to_string(pid) + "\t" + (ended ? output : end(part, status, heard.inTime));
}

int runAll(const char* self, const char* results, const std::string& script, const std::string& python) {
    std::FILE* file = std::fopen(results, "we");
    if (file == nullptr)
        return 3;
    const auto write = [&](const Part& part) {
        std::string output;
        std::fprintf(file, "%s\n", run(part, output).c_str());
        return output;
    };
    write({"runtime", {self, "runtime"}});
    write({"nvtx", {self, "nvtx"}});
    write({"cuda", {self, "cuda"}});
    // A wheel brings a NCCL of its own, which only its Python finds.
    std::string library;
    run({"where", {python, script, "nccl"}}, library);
    write({"nccl", {self, "nccl", library.starts_with('/') ? library : ""}});
    write({"python", {python, script, "stacks"}});
    write({"allocator", {python, script, "allocator"}, kTorchSeconds});
    return std::fclose(file) == 0 ? 0 : 3;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 4)
        return runAll("/proc/self/exe", argv[1], argv[2], argv[3]);
    const std::string part = argc > 1 ? argv[1] : "";
    if (part == "runtime")
        say(runRuntime());
    else if (part == "nvtx")
        say(runNvtx());
    else if (part == "cuda")
        say(runCuda());
    else if (part == "nccl")
        say(runNccl(argc > 2 ? argv[2] : ""));
    else
        return 2;
    return 0;
}
