// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gd::run {

// How a command ended, or why it never began.
struct ChildEnd {
    enum class Kind : std::uint8_t { exited, signalled, notFound, notExecutable };
    Kind kind = Kind::exited;
    int code = 0; // exit status, or the signal's number
    bool hasCore = false; // signalled: a core was written
    pid_t pid = -1; // -1 when it never began
    std::string why; // notFound, notExecutable: one sentence without a full stop

    bool began() const { return kind == Kind::exited || kind == Kind::signalled; }
    // As a shell says it: the status, 128 + signal, 127 not found, 126 not executable.
    int status() const;
};

// Runs a command to its end with the given environment ("NAME=value"). Its streams are those of this process.
// It leads a process group of its own, which gets the terminal if this process had it, and every SIGINT,
// SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 that reaches this process meanwhile; signals that this
// process ignores stay ignored there. Stopping the command (Ctrl-Z) stops this process too. Call it from a
// process with one thread. Fails only when the system refuses to make a process.
Result<ChildEnd> runChild(
    const std::vector<std::string>& command, const std::vector<std::string>& environment);

// While it lives, SIGINT and SIGTERM end this process at once with `status`, after writing `message` to
// stderr and removing `unfinished` (empty = nothing). One at a time.
class InterruptExit {
public:
    InterruptExit(std::string message, std::vector<std::string> unfinished, int status);
    InterruptExit(const InterruptExit&) = delete;
    InterruptExit& operator=(const InterruptExit&) = delete;
    ~InterruptExit();
};

} // namespace gd::run
