// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/memory_pool.h"

#include <vector>

namespace gdt::model {

/// Collects what buffers are wanted, so that a pool of exactly the right size can be made for them.
class BufferPlan {
public:
    /// `pointer` gets its value in assign(); it must stay where it is until then.
    template <class T> void want(T** pointer, std::int64_t count) {
        m_wanted.push_back({reinterpret_cast<void**>(pointer), static_cast<std::size_t>(count) * sizeof(T)});
    }

    /// What a pool needs to hold them all: each buffer is rounded up as the pool does.
    [[nodiscard]] std::size_t bytes() const {
        std::size_t sum = 0;
        for (const Wanted& wanted : m_wanted) {
            sum += (wanted.bytes + 255) / 256 * 256;
        }
        return sum;
    }

    /// Takes them all from `pool`, in the order in which they were wanted.
    runtime::Status assign(runtime::GraphPool& pool) const {
        for (const Wanted& wanted : m_wanted) {
            GDT_TRY(pool.allocate(wanted.pointer, wanted.bytes));
        }
        return runtime::Status::Success;
    }

private:
    struct Wanted {
        void** pointer;
        std::size_t bytes;
    };
    std::vector<Wanted> m_wanted;
};

} // namespace gdt::model
