// SPDX-License-Identifier: Apache-2.0
#include "collector/session/framework_note.h"

#include "collector/raw/spool_name.h"
#include "collector/session/session.h"
#include "collector/session/system.h"

#include <cstring>

namespace gd::session {

namespace {

struct Known {
    std::string_view part; ///< of the library's path
    const char* framework;
};
constexpr Known kKnown[] = {{"/libc10_cuda.so", "PyTorch"}, {"/xla_cuda", "JAX"},
    {"/libtensorflow_cc", "TensorFlow"}, {"/libtensorflow_framework", "TensorFlow"}, {"/cupy/", "CuPy"},
    {"/librmm.so", "RMM"}, {"/libpaddle", "PaddlePaddle"}};

} // namespace

const char* cachingAllocatorIn(std::string_view libraryPath) noexcept {
    for (const Known& known : kKnown) {
        if (libraryPath.find(known.part) != std::string_view::npos) {
            return known.framework;
        }
    }
    return nullptr;
}

void sayNoCachingAllocator(SessionState& session) noexcept {
    writeCoverage(session, raw::CoverageSource::framework_allocator, raw::CoverageState::Complete, "");
}

void noteFrameworkLibrary(SessionState& session, std::string_view path) noexcept {
    const char* framework = cachingAllocatorIn(path);
    if (framework == nullptr || session.framework.hooked.load(std::memory_order_acquire) != 0) {
        return;
    }
    const char* hooks = session.environment.variable(raw::kEnvFrameworkHooks);
    const bool isOff = hooks != nullptr && std::strcmp(hooks, "off") == 0;
    char why[256];
    if (std::strcmp(framework, "PyTorch") != 0) {
        formatInto(why, "blocks that the caching allocator of ", framework,
            " frees and hands out again are not followed");
    } else if (isOff) {
        formatInto(why,
            "blocks that PyTorch's caching allocator frees and hands out again are not followed: "
            "--framework-hooks=off");
    } else {
        formatInto(why,
            "blocks that PyTorch's caching allocator frees and hands out again are not followed: its hook "
            "was not loaded (it needs GraphDoctor's entry of PYTHONPATH, and Python without -I, -E and -S)");
    }
    writeCoverage(session, raw::CoverageSource::framework_allocator, raw::CoverageState::Absent, why);
}

} // namespace gd::session
