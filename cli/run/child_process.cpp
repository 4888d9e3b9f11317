// SPDX-License-Identifier: Apache-2.0
#include "cli/run/child_process.h"

#include "analyzer/base/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gd::run {
namespace {

using base::Fd;

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// The signals this process waits for while the job runs, and what was there before.
class SignalScope {
public:
    SignalScope() {
        sigemptyset(&m_waited);
        sigaddset(&m_waited, SIGCHLD);
        for (const int number : kForwarded)
            sigaddset(&m_waited, number);
        sigset_t blocked = m_waited;
        sigaddset(&blocked, SIGTTOU); // tcsetpgrp() from the background would stop this process
        sigprocmask(SIG_BLOCK, &blocked, &m_before);
        // Inherited as ignored, children would vanish without a status.
        struct sigaction deflt = {};
        deflt.sa_handler = SIG_DFL;
        sigaction(SIGCHLD, &deflt, &m_childAction);
    }
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;
    ~SignalScope() { restore(); }

    void restore() const {
        sigaction(SIGCHLD, &m_childAction, nullptr);
        sigprocmask(SIG_SETMASK, &m_before, nullptr);
    }
    int wait() const {
        int number = 0;
        return sigwait(&m_waited, &number) == 0 ? number : 0;
    }

private:
    sigset_t m_waited = {};
    sigset_t m_before = {};
    struct sigaction m_childAction = {};
};

// The controlling terminal, when this process is in its foreground group.
class Terminal {
public:
    Terminal()
        : m_fd(::open("/dev/tty", O_RDWR | O_CLOEXEC)) {
        if (m_fd && tcgetpgrp(m_fd.get()) != getpgrp())
            m_fd.reset();
    }
    void giveTo(pid_t group) const {
        if (m_fd)
            tcsetpgrp(m_fd.get(), group);
    }
    void takeBack() const { giveTo(getpgrp()); }

private:
    Fd m_fd;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (const std::string& text : texts)
        out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
}

[[noreturn]] void becomeCommand(const SignalScope& signals, const Terminal& terminal,
    const std::vector<char*>& argv, const std::vector<char*>& envp, int errorPipe) {
    setpgid(0, 0);
    terminal.giveTo(getpid());
    signals.restore();
    execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(errorPipe, &error, sizeof error);
    _exit(127);
}

// errno of a failed exec, 0 when the command began.
int execError(int errorPipe) {
    int error = 0;
    ssize_t got = 0;
    do
        got = read(errorPipe, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    return got == sizeof error ? error : 0;
}

ChildEnd notBegun(const std::string& program, int error) {
    struct stat info = {};
    const bool named = program.find('/') != std::string::npos;
    const bool exists = named && stat(program.c_str(), &info) == 0;
    if (error == ENOENT && exists)
        return {ChildEnd::Kind::notExecutable, 126, false, -1,
            fmt::format("{}: the interpreter that its first line names does not exist", program)};
    if (error == ENOENT || (error == ENOTDIR && named))
        return {ChildEnd::Kind::notFound, 127, false, -1, fmt::format("{}: command not found", program)};
    if (error == EACCES && exists && S_ISDIR(info.st_mode))
        return {ChildEnd::Kind::notExecutable, 126, false, -1, fmt::format("{} is a directory", program)};
    if (error == EACCES)
        return {ChildEnd::Kind::notExecutable, 126, false, -1,
            fmt::format("{}: no permission to execute it", program)};
    return {ChildEnd::Kind::notExecutable, 126, false, -1,
        fmt::format("{} cannot be executed: {}", program, std::strerror(error))};
}

// True when the command ended.
bool collect(pid_t pid, const Terminal& terminal, ChildEnd& end) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);
    if (got != pid)
        return got < 0 && errno == ECHILD;
    if (WIFSTOPPED(status)) {
        terminal.takeBack();
        raise(SIGSTOP); // comes back when the user continues this process
        terminal.giveTo(pid);
        kill(-pid, SIGCONT);
        return false;
    }
    end.kind = WIFSIGNALED(status) ? ChildEnd::Kind::signalled : ChildEnd::Kind::exited;
    end.hasCore = WIFSIGNALED(status) && WCOREDUMP(status);
    end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

// What the handler of InterruptExit needs, ready to use: a handler may not allocate.
std::string g_message;
std::vector<std::string> g_unfinished;
int g_status = 0;

void endNow(int) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, g_message.data(), g_message.size());
    for (const std::string& file : g_unfinished)
        unlink(file.c_str());
    _exit(g_status);
}

} // namespace

int ChildEnd::status() const {
    switch (kind) {
    case Kind::signalled:
        return 128 + code;
    case Kind::notFound:
        return 127;
    case Kind::notExecutable:
        return 126;
    case Kind::exited:
        break;
    }
    return code;
}

Result<ChildEnd> runChild(
    const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    const std::vector<char*> argv = pointers(command);
    const std::vector<char*> envp = pointers(environment);
    std::array<int, 2> ends = {-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        return fail(ErrorCode::io, "cannot make a pipe: {}", std::strerror(errno));
    Fd readEnd(ends[0]);
    Fd writeEnd(ends[1]);
    const Terminal terminal;
    const SignalScope signals;
    const pid_t pid = fork();
    if (pid < 0)
        return fail(ErrorCode::io, "cannot start a process for {}: {}", command[0], std::strerror(errno));
    if (pid == 0)
        becomeCommand(signals, terminal, argv, envp, writeEnd.get());
    // Both sides do it, so that neither runs ahead of the group.
    setpgid(pid, pid);
    writeEnd.reset();
    if (const int error = execError(readEnd.get()); error != 0) {
        waitpid(pid, nullptr, 0);
        terminal.takeBack();
        return notBegun(command[0], error);
    }
    ChildEnd end;
    end.pid = pid;
    while (true) {
        const int number = signals.wait();
        if (number != SIGCHLD)
            kill(-pid, number);
        else if (collect(pid, terminal, end))
            break;
    }
    terminal.takeBack();
    return end;
}

InterruptExit::InterruptExit(std::string message, std::vector<std::string> unfinished, int status) {
    g_message = std::move(message);
    g_unfinished = std::move(unfinished);
    g_status = status;
    struct sigaction action = {};
    action.sa_handler = endNow;
    for (const int number : {SIGINT, SIGTERM}) {
        struct sigaction before = {};
        sigaction(number, nullptr, &before);
        if (before.sa_handler != SIG_IGN)
            sigaction(number, &action, nullptr);
    }
}

InterruptExit::~InterruptExit() {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    for (const int number : {SIGINT, SIGTERM}) {
        struct sigaction before = {};
        sigaction(number, nullptr, &before);
        if (before.sa_handler == endNow)
            sigaction(number, &action, nullptr);
    }
}

} // namespace gd::run
