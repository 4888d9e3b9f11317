// SPDX-License-Identifier: Apache-2.0
#include "collector/session/hooks.h"
#include "collector/session/sink.h"
#include "collector/stacks/leading_frames.h"
#include "collector/stacks/python_frames.h"
#include "collector/stacks/unwinder.h"

#include <algorithm>
#include <cstring>

namespace gd::stacks {

namespace {

unsigned nativeFrames(std::uint64_t* addresses, unsigned capacity) noexcept {
    return static_cast<unsigned>(dropHiddenFrames(addresses, captureStack(addresses, capacity)));
}

template <std::size_t N> void copyText(char (&out)[N], std::string_view text) {
    std::size_t bytes = std::min(text.size(), N - 1);
    while (bytes < text.size() && bytes > 0 && (text[bytes] & 0xc0) == 0x80) {
        --bytes; // never cut inside a character
    }
    std::memcpy(out, text.data(), bytes);
    out[bytes] = '\0';
}

struct Output {
    session::PythonFrameText* frames;
    unsigned count;
};

void addFrame(void* context, const PythonFrame& frame) {
    auto& output = *static_cast<Output*>(context);
    session::PythonFrameText& out = output.frames[output.count++];
    copyText(out.file, frame.file);
    copyText(out.function, frame.function);
    out.line = frame.line;
}

unsigned pythonFrames(session::PythonFrameText* frames, unsigned capacity) noexcept {
    Output output{frames, 0};
    return walkPythonFrames(addFrame, &output, capacity);
}

constexpr session::StackWalker kWalker{nativeFrames, pythonFrames};

void opened() noexcept {
    using raw::CoverageSource;
    using raw::CoverageState;
    session::sink::coverage(CoverageSource::stacks_native, CoverageState::Complete, "");
    const char* gap = pythonFramesGap();
    session::sink::coverage(CoverageSource::stacks_python,
        gap == nullptr ? CoverageState::Complete : CoverageState::Partial, gap == nullptr ? "" : gap);
}

constexpr session::SourceHooks kHooks{opened, nullptr, nullptr, nullptr, true};

// Runs when the library is loaded, so that the first reported call already has its stack.
__attribute__((constructor)) void install() {
    hideLeadingFramesOf(reinterpret_cast<const void*>(&install)); // this library
    refreshPythonRuntime();
    session::setStackWalker(&kWalker);
    session::registerSource(&kHooks);
}

} // namespace

} // namespace gd::stacks
