// SPDX-License-Identifier: Apache-2.0
#include "model/attention.h"

#include "kernels/attention.h"
#include "kernels/columns.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/gemm.h"
#include "kernels/ring_attention.h"
#include "model/random_streams.h"

#include <cmath>

namespace gdt::model {

using parallel::HopKind;
using runtime::Status;

template <class T>
Attention<T>::Attention(const ModelConfig& config, const parallel::ModelParallel& parallel,
    const LocalSizes& sizes, const Scratch<T>& scratch, std::int64_t layer)
    : m_config(config)
    , m_parallel(parallel)
    , m_scratch(scratch)
    , m_sizes(sizes)
    , m_layer(layer) { }

template <class T> void Attention<T>::plan(BufferPlan& plan, int slots) {
    m_slots.resize(static_cast<std::size_t>(slots));
    const bool again = m_config.recompute != Recompute::None;
    for (Slot& slot : m_slots) {
        plan.inSlot(static_cast<std::size_t>(&slot - m_slots.data()));
        plan.want(&slot.qkv, m_sizes.rows * 3 * m_sizes.width(),
            m_config.recompute == Recompute::Full ? "qkv" : "");
        plan.want(&slot.output, m_sizes.rows * m_sizes.width(), again ? "attention" : "");
        plan.want(&slot.logSums, m_sizes.rows * m_sizes.heads, again ? "logSums" : "");
    }
}

template <class T> Status Attention<T>::rotate(const Pass& pass, T* qkv, double direction) const {
    const kernels::SequenceShard shard = m_parallel.context.shard(pass.seqLen);
    return pass.stream.template launch<kernels::Rotary<T>>(gridFor(pass.rows() * m_sizes.width()),
        {qkv, pass.shape.seqLen, pass.shape.batch, m_sizes.heads, m_sizes.headSize, m_config.rotaryBase,
            direction, shard.chunk, shard.first0, shard.first1});
}

template <class T> Status Attention<T>::attend(const Pass& pass, const Slot& slot) const {
    GDT_TRY(writeScores(pass, slot));
    typename kernels::AttentionForward<T>::Args args{slot.qkv, slot.output, slot.logSums, pass.shape.seqLen,
        pass.shape.batch, m_sizes.heads, m_sizes.headSize};
    drop(args, pass, slot);
    const runtime::Grid grid = gridFor(pass.rows() * m_sizes.width());
    if (pass.hooks.shortAttention(m_layer, pass.seqLen)) {
        const std::int64_t rows = pass.shape.seqLen * pass.shape.batch * m_sizes.heads;
        GDT_TRY(pass.stream.memsetAsync(slot.logSums, 0, static_cast<std::size_t>(rows) * sizeof(Wide)));
        return pass.stream.template launch<kernels::ShortAttentionForward<T>>(grid, args);
    }
    return pass.stream.template launch<kernels::AttentionForward<T>>(grid, args);
}

// The scores of an attention that is not fused, sequence by sequence and head by head; only the fault
// nonflash-attention has memory for them.
template <class T> Status Attention<T>::writeScores(const Pass& pass, const Slot& slot) const {
    const std::int64_t length = pass.shape.seqLen;
    const std::int64_t matrices = pass.shape.batch * m_sizes.heads;
    void* memory = nullptr;
    GDT_TRY(pass.hooks.scoresMemory(
        m_layer, static_cast<std::size_t>(matrices * length * length) * sizeof(T), &memory));
    if (memory == nullptr) {
        return Status::Success;
    }
    const std::int64_t row = pass.shape.batch * 3 * m_sizes.width(); // from one position to the next
    const auto scale = static_cast<Wide>(1.0 / std::sqrt(static_cast<double>(m_sizes.headSize)));
    for (std::int64_t i = 0; i < matrices; ++i) {
        const T* queries
            = slot.qkv + i / m_sizes.heads * 3 * m_sizes.width() + i % m_sizes.heads * m_sizes.headSize;
        GDT_TRY(pass.stream.template launch<kernels::Gemm<T>>(gridFor(length, length),
            {queries, queries + m_sizes.width(), static_cast<T*>(memory) + i * length * length, nullptr,
                length, length, m_sizes.headSize, row, row, length, scale, Wide(0), false, true}));
    }
    return Status::Success;
}

template <class T> Status Attention<T>::attendBackward(const Pass& pass, const Slot& slot) const {
    typename kernels::AttentionBackward<T>::Args args{slot.qkv, slot.output, slot.logSums, m_scratch.heads,
        m_scratch.wide, m_scratch.rowSums, pass.shape.seqLen, pass.shape.batch, m_sizes.heads,
        m_sizes.headSize};
    drop(args, pass, slot);
    return pass.stream.template launch<kernels::AttentionBackward<T>>(
        gridFor(pass.rows() * m_sizes.width()), args);
}

template <class T>
template <class Args>
void Attention<T>::drop(Args& args, const Pass& pass, const Slot& slot) const {
    args.dropout = m_config.attentionDropout;
    args.seed = m_config.dropoutSeed;
    args.stream = attentionDropoutStream(m_layer);
    args.firstSample = slot.firstSample;
    args.firstHead = m_sizes.heads * m_parallel.tensor.rank;
    args.allHeads = m_config.heads;
    args.wholeLen = pass.seqLen;
}

// The keys of a hop are those of the rank where they started.
template <class T>
template <class Args>
void Attention<T>::dropHop(
    Args& args, const Pass& pass, const Slot& slot, const Block& block, int hop) const {
    const parallel::ContextGroup& ring = m_parallel.context;
    const kernels::SequenceShard queries = ring.shard(pass.seqLen);
    const kernels::SequenceShard keys
        = ring.shardOf((ring.position() + ring.size - hop) % ring.size, pass.seqLen);
    drop(args, pass, slot);
    args.firstQuery = block.firstQuery;
    args.chunk = queries.chunk;
    args.queryFirst0 = queries.first0;
    args.queryFirst1 = queries.first1;
    args.keyFirst0 = keys.first0;
    args.keyFirst1 = keys.first1;
}

// --- ring, forward ---

template <class T> Status Attention<T>::join(const Pass& pass) const {
    parallel::SideStream* side = m_parallel.context.side;
    return side != nullptr ? side->join(pass.stream) : Status::Success;
}

// Keys and values lie side by side in qkv; they travel in a buffer of their own.
template <class T> Status Attention<T>::pack(const Pass& pass, const Slot& slot) const {
    const std::int64_t width = m_sizes.width();
    return pass.stream.template launch<kernels::CopyColumns<T>>(gridFor(pass.rows() * 2 * width),
        {slot.qkv + width, m_scratch.keyValues[0], pass.rows(), 2 * width, 3 * width, 2 * width});
}

template <class T> Status Attention<T>::sendKeyValues(const Pass& pass, int hop) const {
    const parallel::ContextGroup& ring = m_parallel.context;
    const std::int64_t count = pass.rows() * 2 * m_sizes.width();
    const T* out = m_scratch.keyValues[ring.buffer(hop)];
    T* in = m_scratch.keyValues[ring.buffer(hop + 1)];
    if (ring.side == nullptr) {
        return ring.exchange(pass.stream, out, in, count);
    }
    GDT_TRY(ring.side->fork(pass.stream));
    return ring.exchange(ring.side->stream(), out, in, count);
}

template <class T> typename Attention<T>::Block Attention<T>::blockOf(const Pass& pass, int hop) const {
    const std::int64_t length = pass.shape.seqLen;
    switch (m_parallel.context.hop(hop)) {
    case HopKind::Causal:
        return {0, length, length, true};
    case HopKind::Full:
        return {0, length, length, false};
    case HopKind::FirstKeys:
        return {0, length, length / 2, false};
    case HopKind::LastQueries:
        return {length / 2, length - length / 2, length, false};
    case HopKind::Nothing:
        break;
    }
    return {};
}

template <class T> Status Attention<T>::attendHop(const Pass& pass, const Slot& slot, int hop) const {
    const Block block = blockOf(pass, hop);
    const std::int64_t firstRow = block.firstQuery * pass.shape.batch;
    if (block.queries > 0) {
        typename kernels::RingAttentionForward<T>::Args args{slot.qkv + firstRow * 3 * m_sizes.width(),
            m_scratch.keyValues[m_parallel.context.buffer(hop)],
            m_scratch.ringOutput + firstRow * m_sizes.width(), slot.logSums + block.firstQuery, block.queries,
            block.keys, pass.shape.batch, m_sizes.heads, m_sizes.headSize, 3 * m_sizes.width(),
            pass.shape.seqLen, block.causal, hop > 0};
        dropHop(args, pass, slot, block, hop);
        GDT_TRY(pass.stream.template launch<kernels::RingAttentionForward<T>>(
            gridFor(pass.rows() * m_sizes.width()), args));
    }
    return join(pass);
}

template <class T> Status Attention<T>::finishRing(const Pass& pass, const Slot& slot) const {
    const std::int64_t count = pass.rows() * m_sizes.width();
    return pass.stream.template launch<kernels::RoundValues<T>>(
        gridFor(count), {m_scratch.ringOutput, slot.output, count});
}

template <class T> Status Attention<T>::start(const Pass& pass, const Slot& slot) const {
    return m_parallel.context.size == 1 ? attend(pass, slot) : pack(pass, slot);
}

template <class T> void Attention<T>::forwardSteps(StepList& list) {
    list.push_back({StepKind::Compute, m_layer, -1, [this](const Pass& pass, int s) -> Status {
                        GDT_TRY(rotate(pass, slot(s).qkv, 1.0));
                        return start(pass, slot(s));
                    }});
    coreSteps(list);
}

template <class T> void Attention<T>::againSteps(StepList& list) {
    list.push_back(
        {StepKind::Compute, m_layer, -1, [this](const Pass& pass, int s) { return start(pass, slot(s)); }});
    coreSteps(list);
}

// What follows start().
template <class T> void Attention<T>::coreSteps(StepList& list) {
    const int ranks = m_parallel.context.size;
    for (int hop = 0; ranks > 1 && hop < ranks; ++hop) {
        if (hop + 1 < ranks) {
            list.push_back({StepKind::RingComm, m_layer, hop,
                [this, hop](const Pass& pass, int) { return sendKeyValues(pass, hop); }});
        }
        list.push_back({StepKind::RingCompute, m_layer, hop,
            [this, hop](const Pass& pass, int s) { return attendHop(pass, slot(s), hop); }});
    }
    if (ranks > 1) {
        list.push_back({StepKind::Compute, m_layer, -1,
            [this](const Pass& pass, int s) { return finishRing(pass, slot(s)); }});
    }
}

// --- ring, backward ---

template <class T> Status Attention<T>::packBackward(const Pass& pass, const Slot& slot) const {
    const std::int64_t rows = pass.rows();
    GDT_TRY(pack(pass, slot));
    return pass.stream.template launch<kernels::AttentionRowSums<T>>(gridFor(rows * m_sizes.heads),
        {slot.output, m_scratch.heads, m_scratch.rowSums, pass.shape.seqLen, pass.shape.batch, m_sizes.heads,
            m_sizes.headSize});
}

template <class T> Status Attention<T>::attendHopBackward(const Pass& pass, const Slot& slot, int hop) const {
    const Block block = blockOf(pass, hop);
    const std::int64_t firstRow = block.firstQuery * pass.shape.batch;
    const std::int64_t width = m_sizes.width();
    if (block.queries > 0) {
        typename kernels::RingAttentionBackward<T>::Args args{slot.qkv + firstRow * 3 * width,
            m_scratch.keyValues[m_parallel.context.buffer(hop)], m_scratch.heads + firstRow * width,
            slot.logSums + block.firstQuery, m_scratch.rowSums + block.firstQuery,
            m_scratch.queryGradient + firstRow * width, m_scratch.keyValueGradients[hop % 2], block.queries,
            block.keys, pass.shape.batch, m_sizes.heads, m_sizes.headSize, 3 * width, pass.shape.seqLen,
            block.causal};
        args.add = hop > 0; // a rank's own keys, the first, are all seen by its queries
        dropHop(args, pass, slot, block, hop);
        GDT_TRY(pass.stream.template launch<kernels::RingAttentionBackward<T>>(
            gridFor(pass.rows() * width), args));
    }
    return join(pass);
}

template <class T> Status Attention<T>::sendGradients(const Pass& pass, int hop) const {
    return m_parallel.context.exchange(pass.stream, m_scratch.keyValueGradients[hop % 2],
        m_scratch.keyValueGradients[(hop + 1) % 2], pass.rows() * 2 * m_sizes.width());
}

template <class T> Status Attention<T>::unpackGradients(const Pass& pass) const {
    const std::int64_t width = m_sizes.width();
    const Wide* home = m_scratch.keyValueGradients[m_parallel.context.size % 2];
    GDT_TRY(pass.stream.template launch<kernels::RoundColumns<T>>(gridFor(pass.rows() * width),
        {m_scratch.queryGradient, m_scratch.wide, pass.rows(), width, width, 3 * width}));
    return pass.stream.template launch<kernels::RoundColumns<T>>(gridFor(pass.rows() * 2 * width),
        {home, m_scratch.wide + width, pass.rows(), 2 * width, 2 * width, 3 * width});
}

template <class T> void Attention<T>::backwardSteps(StepList& list) {
    const int ranks = m_parallel.context.size;
    list.push_back({StepKind::Compute, m_layer, -1, [this, ranks](const Pass& pass, int s) {
                        return ranks == 1 ? attendBackward(pass, slot(s)) : packBackward(pass, slot(s));
                    }});
    for (int hop = 0; ranks > 1 && hop < ranks; ++hop) {
        if (hop + 1 < ranks) {
            list.push_back({StepKind::RingComm, m_layer, hop,
                [this, hop](const Pass& pass, int) { return sendKeyValues(pass, hop); }});
        }
        list.push_back({StepKind::RingCompute, m_layer, hop,
            [this, hop](const Pass& pass, int s) { return attendHopBackward(pass, slot(s), hop); }});
        list.push_back({StepKind::RingComm, m_layer, hop,
            [this, hop](const Pass& pass, int) { return sendGradients(pass, hop); }});
    }
    list.push_back({StepKind::Compute, m_layer, -1, [this, ranks](const Pass& pass, int) -> Status {
                        if (ranks > 1) {
                            GDT_TRY(unpackGradients(pass));
                        }
                        return rotate(pass, m_scratch.wide, -1.0);
                    }});
}

template class Attention<float>;
template class Attention<double>;
template class Attention<kernels::BFloat16>;
template class Attention<kernels::Float16>;

} // namespace gdt::model
