// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/python_frames.h"

#include <cstdint>
#include <cstring>

namespace gd::stacks {

namespace {

// Byte offsets of the fields that are read. Layouts of a minor version never change after its release.
struct Layout {
    std::uint64_t stateFrame; ///< thread state: innermost frame
    std::uint64_t frameBack;
    std::uint64_t frameCode;
    std::uint64_t frameInstruction; ///< 0: the line comes from PyFrame_GetLineNumber
    std::uint64_t codeFile;
    std::uint64_t codeName;
    std::uint64_t codeStart; ///< first instruction
    std::uint64_t typeOf;
    std::uint64_t stringLength;
    std::uint64_t stringState;
    std::uint64_t asciiBytes; ///< header of an ASCII string
    std::uint64_t compactBytes; ///< header of another compact string
};

// Include/cpython/{pystate,frameobject,code,unicodeobject}.h of 3.9.18 and 3.10.13, 64 bit: equal in both.
constexpr Layout kLayout39{24, 24, 32, 0, 104, 112, 0, 8, 16, 32, 48, 72};

// Include/internal/pycore_runtime.h of 3.13: _Py_DebugOffsets, made for tools that read from outside.
struct DebugOffsets313 {
    char cookie[8]; ///< "xdebugpy"
    std::uint64_t version; ///< PY_VERSION_HEX
    std::uint64_t freeThreaded;
    std::uint64_t runtimeState[3];
    std::uint64_t interpreterState[13];
    struct {
        std::uint64_t size, prev, next, interp, currentFrame, threadId, nativeThreadId, datastackChunk,
            status;
    } threadState;
    struct {
        std::uint64_t size, previous, executable, instrPtr, localsplus, owner;
    } frame;
    struct {
        std::uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
            localspluskinds, codeAdaptive;
    } code;
    struct {
        std::uint64_t size, type;
    } object;
    std::uint64_t typeObject[4];
    std::uint64_t tupleObject[3];
    std::uint64_t listObject[3];
    std::uint64_t dictObject[3];
    std::uint64_t floatObject[2];
    std::uint64_t longObject[3];
    std::uint64_t bytesObject[3];
    struct {
        std::uint64_t size, state, length, asciiobjectSize;
    } unicode;
};

bool findLayout(const PythonRuntime& runtime, Layout& out) {
    if (runtime.codeType == nullptr || runtime.stringType == nullptr || runtime.major != 3) {
        return false;
    }
    if (runtime.minor == 9 || runtime.minor == 10) {
        out = kLayout39;
        return runtime.frameType != nullptr && runtime.frameLine != nullptr;
    }
    if (runtime.minor != 13 || runtime.debugOffsets == nullptr || runtime.codeLine == nullptr) {
        return false;
    }
    DebugOffsets313 offsets;
    std::memcpy(&offsets, runtime.debugOffsets, sizeof offsets);
    if (std::memcmp(offsets.cookie, "xdebugpy", 8) != 0 || offsets.version >> 16 != 0x030d) {
        return false;
    }
    out = {offsets.threadState.currentFrame, offsets.frame.previous, offsets.frame.executable,
        offsets.frame.instrPtr, offsets.code.filename, offsets.code.name, offsets.code.codeAdaptive,
        offsets.object.type, offsets.unicode.length, offsets.unicode.state, offsets.unicode.asciiobjectSize,
        offsets.unicode.asciiobjectSize + 16};
    return true;
}

template <class T> T at(const void* object, std::uint64_t offset) {
    T value;
    std::memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
    return value;
}

constexpr std::size_t kMaxCharacters = 500; // as _Py_DumpTraceback cuts

std::size_t appendUtf8(std::uint32_t character, char* out) {
    if (character < 0x80) {
        out[0] = static_cast<char>(character);
        return 1;
    }
    if (character < 0x800) {
        out[0] = static_cast<char>(0xc0 | character >> 6);
        out[1] = static_cast<char>(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        out[0] = static_cast<char>(0xe0 | character >> 12);
        out[1] = static_cast<char>(0x80 | (character >> 6 & 0x3f));
        out[2] = static_cast<char>(0x80 | (character & 0x3f));
        return 3;
    }
    out[0] = static_cast<char>(0xf0 | (character >> 18 & 7));
    out[1] = static_cast<char>(0x80 | (character >> 12 & 0x3f));
    out[2] = static_cast<char>(0x80 | (character >> 6 & 0x3f));
    out[3] = static_cast<char>(0x80 | (character & 0x3f));
    return 4;
}

// Names are exact `str` objects in compact form; anything else reads as "?".
std::string_view text(const PythonRuntime& runtime, const Layout& layout, const void* string,
    char (&room)[kMaxCharacters * 4]) {
    if (string == nullptr || at<const void*>(string, layout.typeOf) != runtime.stringType) {
        return "?";
    }
    // Bit field since 3.3: interned 2, kind 3, compact 1, ascii 1.
    const auto state = at<std::uint32_t>(string, layout.stringState);
    const auto kind = state >> 2 & 7;
    const bool isCompact = (state >> 5 & 1) != 0;
    const bool isAscii = (state >> 6 & 1) != 0;
    auto length = at<std::uint64_t>(string, layout.stringLength);
    length = length < kMaxCharacters ? length : kMaxCharacters;
    if (!isCompact || (kind != 1 && kind != 2 && kind != 4)) {
        return "?";
    }
    const auto* data = static_cast<const char*>(string) + (isAscii ? layout.asciiBytes : layout.compactBytes);
    if (isAscii) {
        return {data, length};
    }
    std::size_t bytes = 0;
    for (std::uint64_t i = 0; i < length; ++i) {
        const std::uint32_t character = kind == 1 ? static_cast<unsigned char>(data[i])
            : kind == 2                           ? at<std::uint16_t>(data, i * 2)
                                                  : at<std::uint32_t>(data, i * 4);
        bytes += appendUtf8(character, room + bytes);
    }
    return {room, bytes};
}

int lineOf(const PythonRuntime& runtime, const Layout& layout, void* frame, void* code) {
    if (layout.frameInstruction == 0) {
        return runtime.frameLine(frame);
    }
    const auto offset = at<std::uint64_t>(frame, layout.frameInstruction)
        - (reinterpret_cast<std::uint64_t>(code) + layout.codeStart);
    return offset < (1U << 30) ? runtime.codeLine(code, static_cast<int>(offset)) : 0;
}

} // namespace

bool knowsLayout(const PythonRuntime& runtime) {
    Layout layout;
    return findLayout(runtime, layout);
}

unsigned walkByLayout(const PythonRuntime& runtime, void* threadState, PythonFrameVisitor visit,
    void* context, unsigned maxFrames) {
    Layout layout;
    if (!findLayout(runtime, layout)) {
        return 0;
    }
    constexpr int kMaxSteps = 10000; // entries of C calls are skipped, a damaged list must end
    unsigned count = 0;
    void* frame = at<void*>(threadState, layout.stateFrame);
    for (int step = 0; frame != nullptr && count < maxFrames && step < kMaxSteps; ++step) {
        const bool isFrameObject = layout.frameInstruction == 0;
        if (isFrameObject && at<const void*>(frame, layout.typeOf) != runtime.frameType) {
            break;
        }
        void* code = at<void*>(frame, layout.frameCode);
        // From 3.11 on an entry from C has None, or nothing, in place of code.
        if (code != nullptr && at<const void*>(code, layout.typeOf) == runtime.codeType) {
            char fileRoom[kMaxCharacters * 4];
            char nameRoom[kMaxCharacters * 4];
            PythonFrame out;
            out.file = text(runtime, layout, at<const void*>(code, layout.codeFile), fileRoom);
            out.function = text(runtime, layout, at<const void*>(code, layout.codeName), nameRoom);
            const int line = lineOf(runtime, layout, frame, code);
            out.line = line > 0 ? static_cast<unsigned>(line) : 0;
            visit(context, out);
            ++count;
        }
        frame = at<void*>(frame, layout.frameBack);
    }
    return count;
}

} // namespace gd::stacks
