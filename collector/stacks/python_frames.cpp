// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/python_frames.h"

#include <cerrno>

#include <pthread.h>

namespace gd::stacks {

namespace {

thread_local bool t_walking = false;

// Objects made here are dropped again, and a pending exception of the job is put back as it was.
class KeepErrorState {
public:
    explicit KeepErrorState(const PythonRuntime& runtime)
        : m_runtime(runtime) {
        runtime.fetchError(&m_type, &m_value, &m_traceback);
    }
    ~KeepErrorState() { m_runtime.restoreError(m_type, m_value, m_traceback); }
    KeepErrorState(const KeepErrorState&) = delete;
    KeepErrorState& operator=(const KeepErrorState&) = delete;

private:
    const PythonRuntime& m_runtime;
    void* m_type = nullptr;
    void* m_value = nullptr;
    void* m_traceback = nullptr;
};

std::string_view attributeText(const PythonRuntime& runtime, void* object, const char* name, void*& holder) {
    holder = runtime.getAttribute(object, name);
    const char* text = holder != nullptr ? runtime.asUtf8(holder) : nullptr;
    if (text == nullptr) {
        runtime.clearError();
        return "?";
    }
    return text;
}

bool hasPublicInterface(const PythonRuntime& runtime) {
    return runtime.holdsGil != nullptr && runtime.currentFrame != nullptr && runtime.frameBack != nullptr
        && runtime.frameCode != nullptr && runtime.frameLine != nullptr && runtime.getAttribute != nullptr
        && runtime.asUtf8 != nullptr && runtime.release != nullptr && runtime.fetchError != nullptr
        && runtime.restoreError != nullptr && runtime.clearError != nullptr;
}

bool holdsGil(const PythonRuntime& runtime) {
    if (runtime.currentThreadState == nullptr || runtime.thisThreadState == nullptr) {
        return runtime.holdsGil() != 0;
    }
    const void* current = runtime.currentThreadState();
    return current != nullptr && current == runtime.thisThreadState();
}

unsigned walk(PythonFrameVisitor visit, void* context, unsigned maxFrames) {
    const PythonRuntime* runtime = pythonRuntime();
    if (runtime == nullptr || runtime->isInitialized == nullptr || runtime->thisThreadState == nullptr
        || runtime->isInitialized() == 0) {
        return 0;
    }
    void* threadState = runtime->thisThreadState();
    if (threadState == nullptr) {
        return 0;
    }
    if (runtime->dumpTraceback != nullptr) {
        return walkByDump(*runtime, threadState, visit, context, maxFrames);
    }
    if (knowsLayout(*runtime)) {
        return walkByLayout(*runtime, threadState, visit, context, maxFrames);
    }
    return walkByPublicInterface(*runtime, visit, context, maxFrames);
}

} // namespace

unsigned walkPythonFrames(PythonFrameVisitor visit, void* context, unsigned maxFrames) noexcept {
    if (t_walking) {
        return 0;
    }
    t_walking = true;
    const int savedErrno = errno;
    int cancellation = PTHREAD_CANCEL_ENABLE; // a thread that ended in read() would end the job
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    const unsigned count = walk(visit, context, maxFrames);
    pthread_setcancelstate(cancellation, nullptr);
    errno = savedErrno;
    t_walking = false;
    return count;
}

const char* pythonFramesGap() noexcept {
    const PythonRuntime* runtime = pythonRuntime();
    if (runtime == nullptr || runtime->dumpTraceback != nullptr || knowsLayout(*runtime)) {
        return nullptr;
    }
    return hasPublicInterface(*runtime)
        ? "frames of this CPython version can be read only while the thread holds the GIL"
        : "frames of this CPython version cannot be read";
}

unsigned walkByPublicInterface(
    const PythonRuntime& runtime, PythonFrameVisitor visit, void* context, unsigned maxFrames) {
    if (!hasPublicInterface(runtime) || !holdsGil(runtime)) {
        return 0;
    }
    const KeepErrorState keep(runtime);
    void* frame = runtime.currentFrame(); // borrowed; the ones behind it are owned here
    bool owned = false;
    unsigned count = 0;
    while (frame != nullptr && count < maxFrames) {
        void* code = runtime.frameCode(frame);
        void* file = nullptr;
        void* function = nullptr;
        PythonFrame out;
        out.file = attributeText(runtime, code, "co_filename", file);
        out.function = attributeText(runtime, code, "co_name", function);
        const int line = runtime.frameLine(frame);
        out.line = line > 0 ? static_cast<unsigned>(line) : 0;
        visit(context, out);
        ++count;
        runtime.release(file); // Py_DecRef accepts null
        runtime.release(function);
        runtime.release(code);
        void* back = runtime.frameBack(frame);
        if (owned) {
            runtime.release(frame);
        }
        frame = back;
        owned = true;
    }
    if (owned && frame != nullptr) {
        runtime.release(frame);
    }
    return count;
}

} // namespace gd::stacks
