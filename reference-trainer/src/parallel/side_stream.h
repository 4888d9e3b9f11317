// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stream.h"

namespace gdt::parallel {

/// A second stream for communication that runs beside the compute stream: forked from it by an event and
/// joined to it by another, eagerly or as edges of the graph that the compute stream captures. One thread.
class SideStream {
public:
    runtime::Status open(runtime::Device& device);

    /// Work queued on stream() from now on comes after what `main` holds now.
    runtime::Status fork(runtime::Stream& main);
    /// Work queued on `main` from now on comes after what was queued here since fork(); nothing without one.
    runtime::Status join(runtime::Stream& main);

    [[nodiscard]] runtime::Stream& stream() { return m_stream; }

private:
    runtime::Stream m_stream;
    runtime::Event m_forked, m_done;
    bool m_pending = false;
};

} // namespace gdt::parallel
