// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/capture_memory.h"
#include "model/buffer_plan.h"
#include "pipeline/schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace gdt::train {

/// What the graphs of one rank need, in bytes.
struct MemoryPlan {
    std::size_t activations = 0; ///< of all slots
    std::size_t workspaces = 0;
    std::size_t staticInputs = 0;
    int slots = 0; ///< sets of activation buffers: micro-batches in flight, over all chunks
    std::optional<std::size_t> limit; ///< --graph-cache-size
    std::size_t libraries = 0; ///< scratch memory that the backend's libraries hold outside the pool
    std::size_t device = 0; ///< all memory of the device
    /// What the source document computes instead: (parameters + activations of a micro-batch) * 2 * stages.
    std::size_t documentFormula = 0;

    [[nodiscard]] std::size_t needed() const { return activations + workspaces + staticInputs; }
    [[nodiscard]] std::string text() const;
    /// Empty, or one sentence: more than 70 % of the device would go to graphs.
    [[nodiscard]] std::string warning() const;
};

/// When the activations of a slot hold something: from the forward to the backward pass of a micro-batch, as
/// indices into the stage's list of instructions. (Messages have buffers of their own.)
struct LiveRange {
    int chunk = 0;
    int slot = 0;
    std::int64_t microBatch = 0;
    std::size_t first = 0, last = 0;
};

/// By chunk, slot and begin.
[[nodiscard]] std::vector<LiveRange> liveRanges(const pipeline::Schedule::Stage& stage);

/// The buffers that passes work in: in a pool of limited size as long as they fit, in memory of their own
/// after that. Only buffers of the pool may be frozen in a graph. Nothing moves once it is open. One thread.
class GraphMemory final : public graphs::CaptureMemory {
public:
    /// `spareBytes` is what others may take from the pool later.
    struct Options {
        std::optional<std::size_t> limitBytes;
        double share = 1; ///< without a limit: of what the graphs need
        std::size_t spareBytes = 0;
        std::size_t parameterBytes = 0; ///< of the whole model
        bool keyByMicroBatch = false; ///< graph keys name micro-batches instead of slots
    };

    /// Assigns all buffers of `plan`. OutOfMemory when the device has too little for them.
    runtime::Status open(runtime::Device& device, const model::BufferPlan& plan,
        const pipeline::Schedule::Stage& schedule, int stages, const Options& options);
    void close();

    [[nodiscard]] runtime::GraphPool& pool() { return m_pool; }
    [[nodiscard]] const MemoryPlan& plan() const { return m_plan; }
    /// Of the device, in and outside the pool.
    [[nodiscard]] std::size_t takenBytes() const { return m_pool.reservedBytes() + m_outsideBytes; }

    [[nodiscard]] std::string refusal(const graphs::GraphKey& key) const override;
    void freeze(bool frozen) override { m_pool.freeze(frozen); }

    /// Buffers that a graph of one key has frozen.
    struct Held {
        model::BufferGroup group;
        std::vector<LiveRange> live; ///< empty for workspaces
    };
    [[nodiscard]] std::vector<Held> heldBy(const graphs::GraphKey& key) const;

private:
    struct Place {
        model::BufferGroup group;
        bool inPool = true;
    };

    [[nodiscard]] bool freezes(const graphs::GraphKey& key, const model::BufferGroup& group) const;
    [[nodiscard]] int slotOf(const graphs::GraphKey& key) const;
    runtime::Status takeOutside(const model::BufferPlan& plan, const model::BufferGroup& group);
    void makePlan(const std::vector<model::BufferGroup>& groups, int stages, const Options& options);

    runtime::Device* m_device = nullptr;
    runtime::GraphPool m_pool;
    MemoryPlan m_plan;
    std::vector<Place> m_places;
    std::vector<LiveRange> m_live;
    std::vector<void*> m_outside;
    std::size_t m_outsideBytes = 0;
    bool m_keyByMicroBatch = false;
};

/// One line for people: which buffers the graph holds, and when they are live.
[[nodiscard]] std::string heldText(const std::vector<GraphMemory::Held>& held);

} // namespace gdt::train
