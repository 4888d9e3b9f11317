// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/python_runtime.h"

#include <atomic>
#include <cstdio>

#include <dlfcn.h>

namespace gd::stacks {

namespace {

PythonRuntime g_runtime;
std::atomic<int> g_state{0}; ///< 0 not found, 1 being filled, 2 ready

template <class Function> void find(Function& function, const char* name) {
    *reinterpret_cast<void**>(&function) = dlsym(RTLD_DEFAULT, name);
}

const void* findData(const char* name) {
    return dlsym(RTLD_DEFAULT, name);
}

} // namespace

const PythonRuntime* pythonRuntime() noexcept {
    return g_state.load(std::memory_order_acquire) == 2 ? &g_runtime : nullptr;
}

void refreshPythonRuntime() noexcept {
    if (g_state.load(std::memory_order_acquire) != 0) {
        return;
    }
    const char* (*version)() = nullptr;
    find(version, "Py_GetVersion");
    int expected = 0;
    if (version == nullptr || !g_state.compare_exchange_strong(expected, 1)) {
        return;
    }
    PythonRuntime& runtime = g_runtime;
    if (std::sscanf(version(), "%d.%d", &runtime.major, &runtime.minor) != 2) {
        runtime.major = 0;
    }
    find(runtime.isInitialized, "Py_IsInitialized");
    find(runtime.thisThreadState, "PyGILState_GetThisThreadState");
    find(runtime.holdsGil, "PyGILState_Check");
    find(runtime.currentThreadState, "PyThreadState_GetUnchecked");
    if (runtime.currentThreadState == nullptr) {
        find(runtime.currentThreadState, "_PyThreadState_UncheckedGet");
    }
    find(runtime.dumpTraceback, "_Py_DumpTraceback");
    find(runtime.frameLine, "PyFrame_GetLineNumber");
    find(runtime.codeLine, "PyCode_Addr2Line");
    runtime.codeType = findData("PyCode_Type");
    runtime.frameType = findData("PyFrame_Type");
    runtime.stringType = findData("PyUnicode_Type");
    runtime.debugOffsets = findData("_PyRuntime");
    find(runtime.currentFrame, "PyEval_GetFrame");
    find(runtime.frameBack, "PyFrame_GetBack");
    find(runtime.frameCode, "PyFrame_GetCode");
    find(runtime.getAttribute, "PyObject_GetAttrString");
    find(runtime.asUtf8, "PyUnicode_AsUTF8");
    find(runtime.release, "Py_DecRef");
    find(runtime.fetchError, "PyErr_Fetch");
    find(runtime.restoreError, "PyErr_Restore");
    find(runtime.clearError, "PyErr_Clear");
    g_state.store(2, std::memory_order_release);
}

} // namespace gd::stacks
