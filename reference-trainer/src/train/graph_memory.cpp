// SPDX-License-Identifier: Apache-2.0
#include "train/graph_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace gdt::train {

using graphs::GraphKey;
using model::BufferGroup;
using model::BufferKind;
using pipeline::Operation;
using runtime::Status;

namespace {

double mebibytes(std::size_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(std::size_t{1} << 20);
}

std::size_t bytesOf(const BufferGroup& group, BufferKind kind) {
    return group.bytes[static_cast<int>(kind)];
}

bool isWorkspace(const BufferGroup& group) {
    return group.chunk < 0;
}

constexpr double kLargestShare = 0.7; // of the device, as the source document has it

} // namespace

std::string MemoryPlan::text() const {
    const std::string limited
        = limit ? fmt::format("--graph-cache-size allows {:.1f} MiB", mebibytes(*limit)) : "no limit is set";
    const std::string outside
        = libraries > 0 ? fmt::format("; {:.1f} MiB of libraries outside it", mebibytes(libraries)) : "";
    return fmt::format("graph pool: {:.1f} MiB needed (activations of {} slot{} {:.1f}, workspaces {:.1f}, "
                       "static inputs {:.1f}{}), {}; the source document's (parameters + activations) x 2 x "
                       "stages gives {:.1f} MiB",
        mebibytes(needed()), slots, slots == 1 ? "" : "s", mebibytes(activations), mebibytes(workspaces),
        mebibytes(staticInputs), outside, limited, mebibytes(documentFormula));
}

std::string MemoryPlan::warning() const {
    const std::size_t wanted = limit.value_or(needed());
    const double share = device > 0 ? static_cast<double>(wanted) / static_cast<double>(device) : 0;
    if (share <= kLargestShare) {
        return {};
    }
    return fmt::format("{} {:.0f} MiB, {:.0f} % of the device's {:.0f} MiB: above {:.0f} % parameters and "
                       "optimizer state may no longer fit beside it",
        limit ? "--graph-cache-size allows graphs" : "graphs need", mebibytes(wanted), 100 * share,
        mebibytes(device), 100 * kLargestShare);
}

std::vector<LiveRange> liveRanges(const pipeline::Schedule::Stage& stage) {
    std::map<std::pair<int, std::int64_t>, LiveRange> ranges; // by chunk and micro-batch
    for (std::size_t i = 0; i < stage.instructions.size(); ++i) {
        const pipeline::Instruction& instruction = stage.instructions[i];
        if (instruction.operation != Operation::Forward && instruction.operation != Operation::Backward) {
            continue;
        }
        const LiveRange fresh{instruction.chunk, instruction.slot, instruction.microBatch, i, i};
        ranges.try_emplace({instruction.chunk, instruction.microBatch}, fresh).first->second.last = i;
    }
    std::vector<LiveRange> list;
    for (const auto& [place, range] : ranges) {
        list.push_back(range);
    }
    std::sort(list.begin(), list.end(), [](const LiveRange& a, const LiveRange& b) {
        return std::tie(a.chunk, a.slot, a.first) < std::tie(b.chunk, b.slot, b.first);
    });
    return list;
}

void GraphMemory::makePlan(const std::vector<BufferGroup>& groups, int stages, const Options& options) {
    for (const BufferGroup& group : groups) {
        m_plan.activations += bytesOf(group, BufferKind::Activation);
        m_plan.workspaces += bytesOf(group, BufferKind::Workspace);
        m_plan.staticInputs += bytesOf(group, BufferKind::StaticInput);
        m_plan.slots += isWorkspace(group) ? 0 : 1;
    }
    const std::size_t eachSlot
        = m_plan.slots > 0 ? m_plan.activations / static_cast<std::size_t>(m_plan.slots) : 0;
    m_plan.limit = options.limitBytes;
    m_plan.documentFormula = (options.parameterBytes + eachSlot) * 2 * static_cast<std::size_t>(stages);
}

Status GraphMemory::open(runtime::Device& device, const model::BufferPlan& plan,
    const pipeline::Schedule::Stage& schedule, int stages, const Options& options) {
    m_device = &device;
    m_live = liveRanges(schedule);
    m_keyByMicroBatch = options.keyByMicroBatch;
    const std::vector<BufferGroup> groups = plan.groups();
    makePlan(groups, stages, options);
    std::size_t unused = 0;
    GDT_TRY(device.memoryInfo(&unused, &m_plan.device));
    const std::size_t wanted = m_plan.needed() + options.spareBytes;
    const auto shared = options.share < 1
        ? static_cast<std::size_t>(static_cast<double>(m_plan.needed()) * options.share)
        : wanted;
    const std::size_t limit = options.limitBytes.value_or(shared);
    GDT_TRY(runtime::GraphPool::create(device, limit, std::min(limit, wanted), m_pool));
    std::size_t left = limit;
    for (const BufferGroup& group : groups) {
        const bool fits = group.total() <= left;
        left -= fits ? group.total() : 0;
        GDT_TRY(fits ? plan.assign(group, m_pool) : takeOutside(plan, group));
        m_places.push_back({group, fits});
    }
    m_plan.libraries = device.ownBytes();
    return Status::Success;
}

Status GraphMemory::takeOutside(const model::BufferPlan& plan, const BufferGroup& group) {
    void* memory = nullptr;
    GDT_TRY(m_device->allocate(&memory, group.total()));
    m_outside.push_back(memory);
    m_outsideBytes += group.total();
    plan.assign(group, memory);
    return Status::Success;
}

void GraphMemory::close() {
    static_cast<void>(m_pool.destroy());
    for (void* memory : m_outside) {
        static_cast<void>(m_device->release(memory));
    }
    m_outside.clear();
}

// A key names a micro-batch instead of a slot with --graph-key microbatch; its buffers are still a slot's.
int GraphMemory::slotOf(const GraphKey& key) const {
    if (!m_keyByMicroBatch) {
        return static_cast<int>(key.slot);
    }
    const auto range = std::find_if(m_live.begin(), m_live.end(),
        [&](const LiveRange& live) { return live.chunk == key.chunk && live.microBatch == key.slot; });
    return range != m_live.end() ? range->slot : -1;
}

bool GraphMemory::freezes(const GraphKey& key, const BufferGroup& group) const {
    if (key.scope == graphs::Scope::Optimizer) {
        return false;
    }
    return isWorkspace(group) || !graphs::withinPass(key.scope)
        || (group.chunk == key.chunk && group.slot == slotOf(key));
}

std::string GraphMemory::refusal(const GraphKey& key) const {
    std::size_t needed = 0;
    bool held = true;
    for (const Place& place : m_places) {
        if (freezes(key, place.group)) {
            needed += place.group.total();
            held = held && place.inPool;
        }
    }
    if (held) {
        return {};
    }
    const std::size_t free = m_pool.limitBytes() - std::min(m_pool.limitBytes(), m_pool.usedBytes());
    return fmt::format(
        "it needs {:.2f} MiB, --graph-cache-size allows {:.2f} MiB and {:.2f} of them are free",
        mebibytes(needed), mebibytes(m_pool.limitBytes()), mebibytes(free));
}

std::vector<GraphMemory::Held> GraphMemory::heldBy(const GraphKey& key) const {
    std::vector<Held> list;
    for (const Place& place : m_places) {
        if (!place.inPool || !freezes(key, place.group)) {
            continue;
        }
        Held held{place.group, {}};
        for (const LiveRange& range : m_live) {
            if (range.chunk == place.group.chunk && range.slot == place.group.slot) {
                held.live.push_back(range);
            }
        }
        list.push_back(std::move(held));
    }
    return list;
}

std::string heldText(const std::vector<GraphMemory::Held>& held) {
    std::string text = held.empty() ? "nothing of the pool" : "";
    for (const GraphMemory::Held& item : held) {
        text += text.empty() ? "" : "; ";
        if (isWorkspace(item.group)) {
            text += fmt::format("workspaces {:.2f} MiB", mebibytes(item.group.total()));
            continue;
        }
        text += fmt::format("chunk {} slot {} {:.2f} MiB, live", item.group.chunk, item.group.slot,
            mebibytes(item.group.total()));
        for (const LiveRange& range : item.live) {
            text += fmt::format(" {}-{} (micro-batch {})", range.first, range.last, range.microBatch);
        }
    }
    return text;
}

} // namespace gdt::train
