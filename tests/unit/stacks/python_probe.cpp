// SPDX-License-Identifier: Apache-2.0
// Loaded by python_frames.py through ctypes: prints the Python frames of the calling thread into a buffer.
#include "collector/stacks/python_frames.h"

#include <cstring>

namespace {

struct Output {
    char* cursor;
    char* end;

    void add(std::string_view text) {
        const auto room = static_cast<std::size_t>(end - cursor);
        const std::size_t bytes = text.size() < room ? text.size() : room;
        std::memcpy(cursor, text.data(), bytes);
        cursor += bytes;
    }
};

void addFrame(void* context, const gd::stacks::PythonFrame& frame) {
    auto& out = *static_cast<Output*>(context);
    char line[16] = {};
    std::size_t digits = sizeof line;
    for (unsigned value = frame.line; value != 0 && digits > 0; value /= 10) {
        line[--digits] = static_cast<char>('0' + value % 10);
    }
    out.add(frame.file);
    out.add("|");
    out.add(frame.function);
    out.add("|");
    out.add({line + digits, sizeof line - digits});
    out.add("\n");
}

} // namespace

enum ProbeWay { kAuto = 0, kPublicInterface = 1 };

// Returns the number of frames; with room for at most `bytes` - 1 characters of text.
extern "C" __attribute__((visibility("default"))) unsigned gdProbePythonFrames(
    int way, unsigned maxFrames, char* out, std::size_t bytes) {
    gd::stacks::refreshPythonRuntime();
    Output output{out, out + bytes - 1};
    const auto* runtime = gd::stacks::pythonRuntime();
    unsigned count = 0;
    if (way == kAuto) {
        count = gd::stacks::walkPythonFrames(addFrame, &output, maxFrames);
    } else if (runtime != nullptr) {
        count = gd::stacks::walkByPublicInterface(*runtime, addFrame, &output, maxFrames);
    }
    *output.cursor = '\0';
    return count;
}
