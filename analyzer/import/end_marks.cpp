// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/end_marks.h"

#include "analyzer/import/names.h"

#include <fmt/format.h>

#include <csignal>
#include <vector>

namespace gd::importer {
namespace {

// Empty: the thread was at rest.
std::string_view workOf(std::uint32_t doing) {
    switch (static_cast<raw::Doing>(doing)) {
    case raw::Doing::Unknown:
    case raw::Doing::Rest:
        return {};
    case raw::Doing::Begin:
        return "preparing its work";
    case raw::Doing::Modules:
        return "listing loaded libraries";
    case raw::Doing::Facts:
        return "writing facts of the process";
    case raw::Doing::Sources:
        return "calling CUPTI or the driver";
    case raw::Doing::Chunks:
        return "writing records to the disk";
    }
    return "doing something unknown";
}

std::string callbackOf(const raw::ThreadMark& mark) {
    const std::uint32_t number = mark.callback & raw::kMarkNumber;
    std::string where = fmt::format("resource callback {}", number);
    if ((mark.callback & raw::kMarkCall) != 0) {
        const std::string_view name = apiName(static_cast<std::uint16_t>(number));
        where = fmt::format("the callback at the {} of {}",
            (mark.callback & raw::kMarkExit) != 0 ? "exit" : "enter", name.empty() ? "a call" : name);
    }
    return where;
}

} // namespace

bool isFault(int signal) {
    switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGTRAP:
    case SIGSYS:
        return true;
    default:
        return false;
    }
}

std::string describeFault(int signal, const raw::RingMarks& marks) {
    if (marks.keeper == static_cast<std::uint32_t>(raw::Doing::Unknown))
        return {};
    std::vector<std::string> work;
    if (const std::string_view doing = workOf(marks.keeper); !doing.empty())
        work.push_back(fmt::format("its keeper thread, {}", doing));
    if (const std::string_view doing = workOf(marks.drainer); !doing.empty())
        work.push_back(fmt::format("its drainer thread, {}", doing));
    for (const raw::ThreadMark& mark : marks.threads) {
        if (mark.thread == 0 || (mark.callback == 0 && mark.takesStack == 0))
            continue;
        work.push_back(fmt::format("thread {} of the job, in {}{}", mark.thread,
            mark.callback != 0 ? callbackOf(mark) : "a record of its own",
            mark.takesStack != 0 ? ", walking the stack" : ""));
    }
    if (work.empty())
        return fmt::format(
            "signal {} ended the process while nothing of the collector was at work in it", signal);
    return fmt::format("signal {} ended the process while the collector was at work in it: {}", signal,
        fmt::join(work, "; "));
}

} // namespace gd::importer
