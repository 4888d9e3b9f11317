// SPDX-License-Identifier: Apache-2.0
#include "graphs/region.h"

#include <utility>

namespace gdt::graphs {

runtime::Status StreamSlot::open(runtime::Device& device) {
    m_device = &device;
    return runtime::Stream::create(device, m_stream, runtime::StreamFlags::NonBlocking);
}

runtime::Status StreamSlot::replace() {
    m_leftOpen.push_back(std::move(m_stream));
    m_stream = runtime::Stream();
    return runtime::Stream::create(*m_device, m_stream, runtime::StreamFlags::NonBlocking);
}

} // namespace gdt::graphs
