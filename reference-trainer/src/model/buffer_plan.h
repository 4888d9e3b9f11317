// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/memory_pool.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gdt::model {

/// What a buffer is for.
enum class BufferKind {
    Workspace, ///< shared by everything, nothing in it outlives the next layer
    StaticInput, ///< filled before a pass: tokens, targets, what comes from the stage before
    Activation, ///< left by a forward pass for the backward pass of the same micro-batch
};

/// Buffers that are used together: the workspaces (chunk and slot -1), or those of one chunk and slot.
struct BufferGroup {
    int chunk = -1;
    int slot = -1;
    std::size_t bytes[3] = {}; ///< by BufferKind, each buffer rounded up as the pool does

    [[nodiscard]] std::size_t total() const { return bytes[0] + bytes[1] + bytes[2]; }
};

/// Collects what buffers are wanted, so that a pool of exactly the right size can be made for them.
class BufferPlan {
public:
    /// What the buffers wanted next are for, and whose they are.
    void describe(BufferKind kind, int chunk = -1, int slot = -1) {
        m_kind = kind;
        m_chunk = chunk;
        m_slot = slot;
    }
    /// The same for another slot.
    void inSlot(std::size_t slot) { m_slot = static_cast<int>(slot); }

    /// `pointer` gets its value in assign(); it must stay where it is until then.
    template <class T> void want(T** pointer, std::int64_t count) {
        m_wanted.push_back({reinterpret_cast<void**>(pointer), static_cast<std::size_t>(count) * sizeof(T),
            m_kind, m_chunk, m_slot});
    }
    /// The same for a workspace that all pointers wanted under one name share; with an empty name, a buffer
    /// of its own.
    template <class T> void want(T** pointer, std::int64_t count, const std::string& name) {
        if (name.empty()) {
            want(pointer, count);
            return;
        }
        void** target = reinterpret_cast<void**>(pointer);
        const auto [owner, isNew] = m_owners.try_emplace(name, target);
        if (isNew) {
            m_wanted.push_back(
                {target, static_cast<std::size_t>(count) * sizeof(T), BufferKind::Workspace, -1, -1});
        } else {
            m_sharers.emplace_back(target, owner->second);
        }
    }

    /// What a pool needs to hold them all.
    [[nodiscard]] std::size_t bytes() const;
    /// Workspaces first, then by chunk and slot.
    [[nodiscard]] std::vector<BufferGroup> groups() const;

    /// Takes them all from `pool`.
    runtime::Status assign(runtime::GraphPool& pool) const;
    /// Takes those of one group from `pool`.
    runtime::Status assign(const BufferGroup& group, runtime::GraphPool& pool) const;
    /// Lays those of one group out in `memory`, of group.total() bytes and aligned as device memory is.
    void assign(const BufferGroup& group, void* memory) const;

private:
    struct Wanted {
        void** pointer;
        std::size_t bytes;
        BufferKind kind;
        int chunk, slot;

        [[nodiscard]] bool in(const BufferGroup& group) const {
            return chunk == group.chunk && slot == group.slot;
        }
    };

    void share(const BufferGroup& group) const;

    std::vector<Wanted> m_wanted;
    std::map<std::string, void**> m_owners; // of workspaces, by name
    std::vector<std::pair<void**, void**>> m_sharers; // and who else points to them
    BufferKind m_kind = BufferKind::Workspace;
    int m_chunk = -1, m_slot = -1;
};

} // namespace gdt::model
