// SPDX-License-Identifier: Apache-2.0
#include "cli/self_check/part.h"

#include "collector/api/graphdoctor_runtime.h"

namespace gd::self_check {

Outcome runRuntime() {
    const gd_rt_table* table = gd_rt_attach(GD_RT_VERSION, "self-check", CLOCK_MONOTONIC);
    if (table == nullptr)
        return failed("the collector library could not be loaded or refused to attach",
            "check that this installation is whole and that the library may be mapped from its folder");
    for (int i = 1; i <= kCalls; ++i) {
        gd_rt_api call = {};
        call.size = sizeof call;
        call.api = GD_API_STREAM_SYNCHRONIZE;
        call.correlation = static_cast<std::uint64_t>(i);
        call.stream = 7;
        table->api_enter(&call);
        table->api_exit(&call, 0);
    }
    return ran("calls through the tool interface");
}

} // namespace gd::self_check
