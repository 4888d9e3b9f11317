// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gd::stacks {

/// The functions and type objects of the CPython in this process, looked up by name; null where this version
/// does not export one. Objects are opaque here: their layouts differ between versions.
struct PythonRuntime {
    int major = 0;
    int minor = 0;
    int (*isInitialized)() = nullptr;
    void* (*thisThreadState)() = nullptr; ///< PyGILState_GetThisThreadState: needs no GIL
    int (*holdsGil)() = nullptr; ///< PyGILState_Check: always 1 once the job has made a sub-interpreter
    /// PyThreadState_GetUnchecked or its older name: of the thread that holds the GIL; null = nobody here
    /// does
    void* (*currentThreadState)() = nullptr;
    void (*dumpTraceback)(int fd, void* threadState) = nullptr; ///< 3.8, 3.11, 3.12
    int (*frameLine)(void* frame) = nullptr; ///< PyFrame_GetLineNumber
    int (*codeLine)(void* code, int byteOffset) = nullptr; ///< PyCode_Addr2Line
    const void* codeType = nullptr;
    const void* frameType = nullptr;
    const void* stringType = nullptr;
    const void* debugOffsets = nullptr; ///< _PyRuntime, which begins with them from 3.13 on
    // The public frame interface; creates references, so it needs the GIL.
    void* (*currentFrame)() = nullptr;
    void* (*frameBack)(void*) = nullptr;
    void* (*frameCode)(void*) = nullptr;
    void* (*getAttribute)(void*, const char*) = nullptr;
    const char* (*asUtf8)(void*) = nullptr;
    void (*release)(void*) = nullptr; ///< Py_DecRef
    void (*fetchError)(void**, void**, void**) = nullptr;
    void (*restoreError)(void*, void*, void*) = nullptr;
    void (*clearError)() = nullptr;
};

/// The runtime found so far, or null. Any thread, no lock.
const PythonRuntime* pythonRuntime() noexcept;

/// Looks for CPython again if none was found yet. Takes the loader's lock: for the time of loading and for
/// the collector's own thread, after new modules appeared.
void refreshPythonRuntime() noexcept;

} // namespace gd::stacks
