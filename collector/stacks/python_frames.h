// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/stacks/python_runtime.h"

#include <cstddef>
#include <string_view>

namespace gd::stacks {

struct PythonFrame {
    std::string_view file; ///< UTF-8, at most 500 characters
    std::string_view function;
    unsigned line = 0; ///< 0 = unknown
};

/// Called once a frame, innermost first; the views end with the call.
using PythonFrameVisitor = void (*)(void* context, const PythonFrame& frame);

/// The Python frames of the calling thread, at most `maxFrames`; returns how many. Works whether or not this
/// thread holds the GIL, and takes neither it nor any other lock:
/// - CPython 3.8, 3.11, 3.12: _Py_DumpTraceback() into a memory file, parsed;
/// - 3.9, 3.10, and 3.13 by its published debug offsets: the thread's own frames are read in place (they
///   cannot change while this thread is here), every object's type checked first;
/// - any other version: the public frame interface, only while this thread holds the GIL.
/// 0 means: no Python in this process or thread, the interpreter is being finalised, or a version and state
/// that cannot be read ("native frames only"). errno and Python's error state are kept.
unsigned walkPythonFrames(PythonFrameVisitor visit, void* context, unsigned maxFrames) noexcept;

/// Why walkPythonFrames() cannot give every thread's frames in this process, null = it can (or there is no
/// Python).
const char* pythonFramesGap() noexcept;

/// The ways, for walkPythonFrames() and tests. Each returns the number of frames visited.
unsigned walkByDump(const PythonRuntime& runtime, void* threadState, PythonFrameVisitor visit, void* context,
    unsigned maxFrames);
unsigned walkByLayout(const PythonRuntime& runtime, void* threadState, PythonFrameVisitor visit,
    void* context, unsigned maxFrames);
unsigned walkByPublicInterface(
    const PythonRuntime& runtime, PythonFrameVisitor visit, void* context, unsigned maxFrames);
/// True when walkByLayout() knows the objects of this version.
bool knowsLayout(const PythonRuntime& runtime);

/// One line of _Py_DumpTraceback's output, `  File "x.py", line 12 in func`. False: another line.
bool parseTracebackLine(std::string_view line, PythonFrame& frame);

} // namespace gd::stacks
