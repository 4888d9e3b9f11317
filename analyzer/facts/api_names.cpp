// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/api_names.h"

#include <array>
#include <utility>

namespace gd::facts {

ApiClass apiClassFrom(std::string_view word) {
    static constexpr std::array<std::pair<std::string_view, ApiClass>, 9> kClasses{
        {{"CAPTURE", ApiClass::capture}, {"EDGE", ApiClass::edge}, {"LAUNCH", ApiClass::launch},
            {"COPY", ApiClass::copy}, {"COPY_SYNC", ApiClass::copySync}, {"SYNC", ApiClass::sync},
            {"ALLOC", ApiClass::alloc}, {"EXEC", ApiClass::exec}, {"GRAPH", ApiClass::graph}}};
    for (const auto& [name, value] : kClasses) {
        if (name == word)
            return value;
    }
    return ApiClass::other;
}

KnownCall knownCallFrom(std::string_view name) {
    static constexpr std::array<std::pair<std::string_view, KnownCall>, 22> kCalls{
        {{"cuStreamBeginCapture", KnownCall::beginCapture},
            {"cuStreamBeginCaptureToGraph", KnownCall::beginCapture},
            {"cuStreamEndCapture", KnownCall::endCapture}, {"cuStreamWaitEvent", KnownCall::waitEvent},
            {"cuEventRecord", KnownCall::recordEvent}, {"cuEventRecordWithFlags", KnownCall::recordEvent},
            {"cuStreamWaitValue32", KnownCall::waitValue}, {"cuStreamBatchMemOp", KnownCall::waitValue},
            {"cuMemcpyHtoD", KnownCall::copyToDevice}, {"cuMemsetD8", KnownCall::fill},
            {"cuMemsetD8Async", KnownCall::fill}, {"cuGraphKernelNodeSetParams", KnownCall::nodeParams},
            {"cuGraphExecKernelNodeSetParams", KnownCall::execNodeParams},
            {"cuGraphExecMemcpyNodeSetParams", KnownCall::execNodeParams},
            {"cuGraphExecNodeSetParams", KnownCall::execNodeParams},
            {"cuGraphDestroy", KnownCall::destroyObject}, {"cuGraphExecDestroy", KnownCall::destroyObject},
            {"cuStreamDestroy", KnownCall::destroyObject}, {"cuEventDestroy", KnownCall::destroyObject},
            {"cuModuleUnload", KnownCall::destroyObject}, {"cuLibraryUnload", KnownCall::destroyObject},
            {"comm_abort", KnownCall::commAbort}}};
    for (const auto& [known, value] : kCalls) {
        if (known == name)
            return value;
    }
    return KnownCall::none;
}

} // namespace gd::facts
