// SPDX-License-Identifier: Apache-2.0
#include "model/buffer_plan.h"

namespace gdt::model {

using runtime::GraphPool;
using runtime::Status;

std::size_t BufferPlan::bytes() const {
    std::size_t sum = 0;
    for (const Wanted& wanted : m_wanted) {
        sum += GraphPool::rounded(wanted.bytes);
    }
    return sum;
}

std::vector<BufferGroup> BufferPlan::groups() const {
    std::map<std::pair<int, int>, BufferGroup> groups;
    for (const Wanted& wanted : m_wanted) {
        BufferGroup& group = groups[{wanted.chunk, wanted.slot}];
        group.chunk = wanted.chunk;
        group.slot = wanted.slot;
        group.bytes[static_cast<int>(wanted.kind)] += GraphPool::rounded(wanted.bytes);
    }
    std::vector<BufferGroup> list;
    for (const auto& [place, group] : groups) {
        list.push_back(group);
    }
    return list;
}

Status BufferPlan::assign(GraphPool& pool) const {
    for (const BufferGroup& group : groups()) {
        GDT_TRY(assign(group, pool));
    }
    return Status::Success;
}

Status BufferPlan::assign(const BufferGroup& group, GraphPool& pool) const {
    for (const Wanted& wanted : m_wanted) {
        if (wanted.in(group)) {
            GDT_TRY(pool.allocate(wanted.pointer, wanted.bytes));
        }
    }
    share(group);
    return Status::Success;
}

void BufferPlan::assign(const BufferGroup& group, void* memory) const {
    auto* next = static_cast<std::byte*>(memory);
    for (const Wanted& wanted : m_wanted) {
        if (wanted.in(group)) {
            *wanted.pointer = next;
            next += GraphPool::rounded(wanted.bytes);
        }
    }
    share(group);
}

void BufferPlan::share(const BufferGroup& group) const {
    for (const auto& [pointer, owner] : m_sharers) {
        if (group.chunk < 0) {
            *pointer = *owner;
        }
    }
}

} // namespace gdt::model
