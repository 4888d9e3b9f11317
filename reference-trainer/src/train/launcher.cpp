// SPDX-License-Identifier: Apache-2.0
#include "train/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gdt::train {

namespace {

constexpr int kMaxRanks = 64;
std::atomic<pid_t> children[kMaxRanks];
std::atomic<bool> asked{false}; // this process got a signal to end

void endChildren(int signal) {
    for (const std::atomic<pid_t>& child : children) {
        if (const pid_t pid = child.load(); pid > 0) {
            ::kill(pid, signal);
        }
    }
}

// A signal that comes while a rank starts waits until the rank has its own handlers and the launcher knows
// it.
void holdSignals(bool hold) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    static_cast<void>(::sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &signals, nullptr));
}

[[noreturn]] void becomeRank(
    int rank, int ranks, pid_t launcher, const std::string& folder, int argc, char** argv) {
    // A launcher that is killed takes its ranks with it, also one that was killed before this call.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != launcher) {
        std::_Exit(128 + SIGTERM);
    }
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    holdSignals(false);
    ::setenv("RANK", std::to_string(rank).c_str(), 1);
    ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
    std::vector<char*> arguments(argv, argv + argc);
    std::string option = "--rendezvous=" + folder;
    arguments.push_back(option.data());
    arguments.push_back(nullptr);
    // By its own name: one started as /proc/self/exe is called "exe", in a trace, too.
    std::array<char, PATH_MAX> self{};
    if (::readlink("/proc/self/exe", self.data(), self.size() - 1) > 0) {
        ::execv(self.data(), arguments.data());
    }
    ::execv("/proc/self/exe", arguments.data()); // it was moved or replaced meanwhile
    fmt::print(stderr, "reference-trainer: cannot start rank {}: {}\n", rank, std::strerror(errno));
    std::_Exit(127);
}

int statusOf(int wait) {
    return WIFSIGNALED(wait) ? 128 + WTERMSIG(wait) : WEXITSTATUS(wait);
}

// The rank of a process that has ended, which gets no signal any more; -1 for none of ours.
int forget(pid_t pid) {
    for (int rank = 0; rank < kMaxRanks; ++rank) {
        if (children[rank].load() == pid) {
            children[rank].store(0);
            return rank;
        }
    }
    return -1;
}

// Waits for all; the first failure ends the others, whose own status then does not count.
int waitForRanks(int started) {
    int worst = 0;
    bool ending = false;
    for (int left = started; left > 0;) {
        int wait = 0;
        const pid_t pid = ::waitpid(-1, &wait, 0);
        if (pid < 0) {
            if (errno == EINTR) {
                continue;
            }
            return std::max(worst, 1);
        }
        --left;
        const int rank = forget(pid);
        const int status = statusOf(wait);
        if (WIFSIGNALED(wait) && !ending && !asked.load()) {
            fmt::print(stderr,
                "reference-trainer: rank {} was ended by signal {} ({}); the others are ended\n", rank,
                WTERMSIG(wait), ::strsignal(WTERMSIG(wait)));
        }
        if (!ending) {
            worst = std::max(worst, status);
        }
        if (status != 0 && !ending) {
            ending = true;
            endChildren(SIGTERM);
        }
    }
    return worst;
}

void endOnSignal(int signal) {
    asked.store(true);
    endChildren(signal);
}

} // namespace

int launchRanks(int ranks, int argc, char** argv) {
    std::string folder = (std::filesystem::temp_directory_path() / "reference-trainer-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
        fmt::print(stderr, "reference-trainer: cannot make a folder for the ranks to meet in {}: {}\n",
            folder, std::strerror(errno));
        return 1;
    }
    std::signal(SIGINT, endOnSignal);
    std::signal(SIGTERM, endOnSignal);
    const pid_t launcher = ::getpid();
    int started = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        holdSignals(true);
        const pid_t pid = ::fork();
        if (pid == 0) {
            becomeRank(rank, ranks, launcher, folder, argc, argv);
        }
        if (pid < 0) {
            fmt::print(stderr, "reference-trainer: cannot start rank {}: {}\n", rank, std::strerror(errno));
            holdSignals(false);
            endChildren(SIGTERM);
            break;
        }
        children[rank].store(pid);
        ++started;
        holdSignals(false);
        if (asked.load()) {
            endChildren(SIGTERM); // also one that was not there yet when the signal came
            break;
        }
    }
    const int worst = waitForRanks(started);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return started < ranks ? std::max(worst, 1) : worst;
}

} // namespace gdt::train
