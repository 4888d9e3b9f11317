// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/python_frames.h"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gd::stacks {

namespace {

// What _Py_DumpTraceback writes goes here. A pipe of 64 KiB where memory files are refused: it writes what
// fits and goes on without blocking.
struct DumpTarget {
    int writeEnd = -1;
    int readEnd = -1;

    DumpTarget() {
        writeEnd = static_cast<int>(syscall(SYS_memfd_create, "graphdoctor", MFD_CLOEXEC));
        readEnd = writeEnd;
        int ends[2] = {-1, -1};
        if (writeEnd < 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
            readEnd = ends[0];
            writeEnd = ends[1];
        }
    }
    ~DumpTarget() {
        if (readEnd >= 0) {
            close(readEnd);
        }
        if (writeEnd >= 0 && writeEnd != readEnd) {
            close(writeEnd);
        }
    }
    DumpTarget(const DumpTarget&) = delete;
    DumpTarget& operator=(const DumpTarget&) = delete;

    void rewind() const {
        if (readEnd == writeEnd) {
            lseek(readEnd, 0, SEEK_SET);
        }
    }
};

constexpr std::string_view kFile = "  File \"";
constexpr std::string_view kLine = "\", line ";
constexpr std::string_view kIn = " in ";

} // namespace

bool parseTracebackLine(std::string_view line, PythonFrame& frame) {
    if (line.substr(0, kFile.size()) != kFile) {
        return false;
    }
    line.remove_prefix(kFile.size());
    const auto fileEnd = line.rfind(kLine);
    if (fileEnd == std::string_view::npos) {
        return false;
    }
    frame.file = line.substr(0, fileEnd);
    line.remove_prefix(fileEnd + kLine.size());
    frame.line = 0;
    std::size_t digits = 0;
    while (digits < line.size() && digits < 9 && line[digits] >= '0' && line[digits] <= '9') {
        frame.line = frame.line * 10 + static_cast<unsigned>(line[digits] - '0');
        ++digits;
    }
    const auto in = line.find(kIn);
    if (in == std::string_view::npos) {
        return false;
    }
    frame.function = line.substr(in + kIn.size());
    return true;
}

unsigned walkByDump(const PythonRuntime& runtime, void* threadState, PythonFrameVisitor visit, void* context,
    unsigned maxFrames) {
    const DumpTarget target;
    if (target.readEnd < 0) {
        return 0;
    }
    runtime.dumpTraceback(target.writeEnd, threadState);
    target.rewind();
    // A line holds two names of at most 500 characters, escaped to at most 10 bytes each where not ASCII.
    char buffer[12 * 1024];
    std::size_t held = 0;
    unsigned count = 0;
    while (count < maxFrames) {
        const ssize_t got = read(target.readEnd, buffer + held, sizeof buffer - held);
        if (got <= 0) {
            break;
        }
        held += static_cast<std::size_t>(got);
        std::size_t at = 0;
        while (const void* end = std::memchr(buffer + at, '\n', held - at)) {
            const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - (buffer + at));
            PythonFrame frame;
            if (count < maxFrames && parseTracebackLine({buffer + at, length}, frame)) {
                visit(context, frame);
                ++count;
            }
            at += length + 1;
        }
        if (at == 0 && held == sizeof buffer) {
            break;
        }
        std::memmove(buffer, buffer + at, held - at);
        held -= at;
    }
    return count;
}

} // namespace gd::stacks
