// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/graph_key.h"
#include "runtime/stream.h"

#include <cstdint>
#include <vector>

namespace gdt::graphs {

/// Work that can be issued eagerly or captured. Implementations issue the same kernels with the same
/// arguments either way and keep every number that changes from call to call in device memory.
class Region {
public:
    virtual ~Region() = default;

    /// Queues the work on `stream`; does not wait for it.
    virtual runtime::Status issue(runtime::Stream& stream) = 0;
    /// A number that changes when an address that issue() passes to kernels changes. A graph is replayed only
    /// while it is what it was at capture.
    [[nodiscard]] virtual std::uint64_t guard() const { return 0; }
};

/// The compute stream, replaceable: a capture that was left open makes a stream useless, and the run has to
/// go on with a new one. Owned by the trainer, used by its thread.
class StreamSlot {
public:
    runtime::Status open(runtime::Device& device);
    /// Puts the present stream aside (destroying it would end its capture) and creates another. The manager
    /// drains a stream before it captures, so nothing on the old one is still to be waited for.
    runtime::Status replace();

    [[nodiscard]] runtime::Stream& stream() { return m_stream; }
    [[nodiscard]] bool anyLeftOpen() const { return !m_leftOpen.empty(); }

private:
    runtime::Device* m_device = nullptr;
    runtime::Stream m_stream;
    std::vector<runtime::Stream> m_leftOpen;
};

} // namespace gdt::graphs
