// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/cupti/client.h"
#include "collector/cupti/cupti_api.h"
#include "collector/cupti/driver_api.h"
#include "tests/e2e/made_up_cuda/played_driver.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace gd::test {

using cupti::Client;
using cupti::ThreadCalls;

inline std::map<std::uint32_t, bool> g_enabled; // driver callback ids

inline cupti::CuptiApi fakeCupti() {
    cupti::CuptiApi api;
    api.getGraphId = [](CUgraph g, std::uint32_t* id) {
        *id = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(g) >> 8);
        return CUPTI_SUCCESS;
    };
    api.getGraphExecId = [](CUgraphExec e, std::uint32_t* id) {
        *id = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(e) >> 8);
        return CUPTI_SUCCESS;
    };
    api.getGraphNodeId = [](CUgraphNode n, std::uint64_t* id) {
        *id = reinterpret_cast<std::uint64_t>(n);
        return CUPTI_SUCCESS;
    };
    api.getDeviceId = [](CUcontext, std::uint32_t* device) {
        *device = 3;
        return CUPTI_SUCCESS;
    };
    api.getStreamIdEx = [](CUcontext, CUstream, std::uint8_t, std::uint32_t* id) {
        static std::uint32_t next = 12; // as on the device: a context's own streams have smaller numbers
        *id = ++next;
        return CUPTI_SUCCESS;
    };
    api.enableCallback
        = [](std::uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
              if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
                  g_enabled[id] = on != 0;
              }
              return CUPTI_SUCCESS;
          };
    api.subscribe = [](CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) { return CUPTI_SUCCESS; };
    return api;
}

/// Calls this process's own client.
class Driver : public PlayedDriver {
public:
    Driver()
        : PlayedDriver([](CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
            cupti::onCallback(&Client::instance(), domain, id, data);
        }) {
        cupti::setCuptiApi(fakeCupti());
    }
};

inline const CUstream kStream = handle<CUstream>(0x5000);

/// What a process leaves behind that does this.
template <class Body> RawSpool record(Body body) {
    SpoolBuilder builder;
    EXPECT_EQ(builder.run(body), 0);
    const std::string segment = builder.segments().at(0);
    return RawSpool(segment, SpoolBuilder::ringOf(segment));
}

} // namespace gd::test
