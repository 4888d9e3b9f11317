// SPDX-License-Identifier: Apache-2.0
// Attention of a rank's own sequence and one step of the attention ring, which differ in where things lie.
#include "kernels/attention.h"

#include "kernels/attention_mask.h"
#include "kernels/number.h"
#include "kernels/ring_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gdt::kernels {

namespace {

template <class W> W dot(const W* a, const W* b, std::int64_t n) {
    W sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

template <class W> void addScaled(W* to, W factor, const W* from, std::int64_t n) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
        to[i] += factor * from[i];
    }
}

// Rows of one head in a matrix: `step` elements from one position to the next.
template <class T> struct Rows {
    T* data;
    std::int64_t step;
    std::int64_t count;
};

template <class T> std::vector<Wide<std::remove_const_t<T>>> load(const Rows<T>& rows, std::int64_t size) {
    std::vector<Wide<std::remove_const_t<T>>> values(static_cast<std::size_t>(rows.count * size));
    for (std::int64_t r = 0; r < rows.count; ++r) {
        for (std::int64_t d = 0; d < size; ++d) {
            values[static_cast<std::size_t>(r * size + d)] = widen(rows.data[r * rows.step + d]);
        }
    }
    return values;
}

template <class T> void store(const std::vector<Wide<T>>& values, const Rows<T>& rows, std::int64_t size) {
    for (std::int64_t r = 0; r < rows.count; ++r) {
        for (std::int64_t d = 0; d < size; ++d) {
            rows.data[r * rows.step + d] = narrow<T>(values[static_cast<std::size_t>(r * size + d)]);
        }
    }
}

// One (sample, head): queries against keys.
template <class T> struct Head {
    Rows<const T> q, k, v;
    std::int64_t size;
    bool causal;
    AttentionMask mask;
    std::int64_t sample, head;

    [[nodiscard]] std::int64_t seen(std::int64_t i) const {
        return causal ? std::min(i + 1, k.count) : k.count;
    }
    [[nodiscard]] Wide<T> scale() const { return Wide<T>(1) / std::sqrt(static_cast<Wide<T>>(size)); }
    // What a probability counts in the output.
    [[nodiscard]] Wide<T> share(std::int64_t i, std::int64_t j, double dropout) const {
        if (mask.threshold == 0) {
            return 1;
        }
        return mask.kept(sample, head, i, j) ? static_cast<Wide<T>>(1.0 / (1.0 - dropout)) : 0;
    }
};

// Scores are made in pieces of this length; a row's output is scaled down when a larger score turns up.
constexpr std::int64_t kPiece = 64;

// The unnormalised sum over the keys goes to out with weights exp(score - largest), to what is there already
// in the same units.
template <class T, class W = Wide<T>>
void addKeys(const Head<T>& head, std::int64_t i, const W* q, const W* keys, const W* values, W* out,
    W& largest, W& total, double dropout) {
    const W scale = head.scale();
    for (std::int64_t first = 0; first < head.seen(i); first += kPiece) {
        const std::int64_t count = std::min(kPiece, head.seen(i) - first);
        W p[kPiece];
        W high = largest;
        for (std::int64_t j = 0; j < count; ++j) {
            p[j] = scale * dot(q, keys + (first + j) * head.size, head.size);
            high = std::max(high, p[j]);
        }
        const W shrink = std::exp(largest - high);
        largest = high;
        total *= shrink;
        for (std::int64_t d = 0; d < head.size; ++d) {
            out[d] *= shrink;
        }
        for (std::int64_t j = 0; j < count; ++j) {
            p[j] = std::exp(p[j] - largest);
            total += p[j];
            const W share = head.share(i, first + j, dropout);
            if (share != 0) {
                addScaled(out, p[j] * share, values + (first + j) * head.size, head.size);
            }
        }
    }
}

// With `merge` the keys join those whose attention and log sums are there: going on from (out, logSum) as
// from a block whose largest score is logSum and whose weights sum to 1 is the merge in its stable form.
template <class T, class O>
void forwardHead(const Head<T>& head, const Rows<O>& out, Wide<T>* logSums, bool merge, double dropout) {
    using W = Wide<T>;
    constexpr W kNothing = -std::numeric_limits<W>::infinity();
    const std::vector<W> queries = load(head.q, head.size);
    const std::vector<W> keys = load(head.k, head.size);
    const std::vector<W> values = load(head.v, head.size);
    std::vector<W> sums(queries.size());
    if (merge) {
        sums = load(out, head.size);
    }
    for (std::int64_t i = 0; i < head.q.count; ++i) {
        W largest = merge ? logSums[i] : kNothing;
        W total = merge ? 1 : 0;
        W* sum = sums.data() + i * head.size;
        if (head.seen(i) == 0) {
            logSums[i] = largest;
            continue;
        }
        addKeys(head, i, queries.data() + i * head.size, keys.data(), values.data(), sum, largest, total,
            dropout);
        for (std::int64_t d = 0; d < head.size; ++d) {
            sum[d] /= total;
        }
        logSums[i] = largest + std::log(total);
    }
    store<O>(sums, out, head.size);
}

// With `add` the gradients join what is there.
template <class T, class O>
void backwardHead(const Head<T>& head, const Rows<const T>& dout, const Wide<T>* logSums,
    const Wide<T>* rowSums, const Rows<O>& dq, const Rows<O>& dk, const Rows<O>& dv, bool add,
    double dropout) {
    using W = Wide<T>;
    const W scale = head.scale();
    const std::int64_t n = head.size;
    const std::vector<W> queries = load(head.q, n);
    const std::vector<W> keys = load(head.k, n);
    const std::vector<W> values = load(head.v, n);
    const std::vector<W> douts = load(dout, n);
    const auto start = [&](const Rows<O>& rows) {
        return add ? load(rows, n) : std::vector<W>(static_cast<std::size_t>(rows.count * n));
    };
    std::vector<W> queryGradient = start(dq);
    std::vector<W> keyGradient = start(dk);
    std::vector<W> valueGradient = start(dv);
    for (std::int64_t i = 0; i < head.q.count; ++i) {
        const W* q = queries.data() + i * n;
        const W* d = douts.data() + i * n;
        for (std::int64_t j = 0; j < head.seen(i); ++j) {
            const W* k = keys.data() + j * n;
            const W p = std::exp(scale * dot(q, k, n) - logSums[i]);
            const W share = head.share(i, j, dropout);
            const W dp = share != 0 ? share * dot(d, values.data() + j * n, n) : W(0);
            const W dscore = scale * p * (dp - rowSums[i]);
            if (share != 0) {
                addScaled(valueGradient.data() + j * n, share * p, d, n);
            }
            addScaled(queryGradient.data() + i * n, dscore, k, n);
            addScaled(keyGradient.data() + j * n, dscore, q, n);
        }
    }
    store<O>(queryGradient, dq, n);
    store<O>(keyGradient, dk, n);
    store<O>(valueGradient, dv, n);
}

template <class Args, class F> void forEachHead(const Args& args, const F& f) {
    for (std::int64_t b = 0; b < args.batch; ++b) {
        for (std::int64_t h = 0; h < args.heads; ++h) {
            f(b, h);
        }
    }
}

// Row r = position * batch + sample of a matrix with `columns` columns; the head's begin at `column`.
template <class T>
Rows<T> rowsOf(T* matrix, std::int64_t columns, std::int64_t column, std::int64_t batch, std::int64_t sample,
    std::int64_t count) {
    return {matrix + sample * columns + column, batch * columns, count};
}

// Queries, keys and values side by side.
template <class T, class Args>
Head<T> headOf(const Args& a, const AttentionMask& mask, std::int64_t b, std::int64_t h) {
    const std::int64_t hidden = a.heads * a.headSize;
    const auto part = [&](std::int64_t which) {
        return rowsOf(a.qkv, 3 * hidden, which * hidden + h * a.headSize, a.batch, b, a.seqLen);
    };
    return {part(0), part(1), part(2), a.headSize, true, mask, b, h};
}

template <class T, class Args>
Head<T> ringHeadOf(const Args& a, const AttentionMask& mask, std::int64_t b, std::int64_t h) {
    const std::int64_t hidden = a.heads * a.headSize;
    const std::int64_t column = h * a.headSize;
    return {rowsOf(a.q, a.qStep, column, a.batch, b, a.queries),
        rowsOf(a.kv, 2 * hidden, column, a.batch, b, a.keys),
        rowsOf(a.kv, 2 * hidden, hidden + column, a.batch, b, a.keys), a.headSize, a.causal, mask, b, h};
}

// rowSums[i] = sum of dout * out.
template <class T>
void sumRows(const Rows<const T>& out, const Rows<const T>& dout, Wide<T>* rowSums, std::int64_t size) {
    const std::vector<Wide<T>> outs = load(out, size);
    const std::vector<Wide<T>> douts = load(dout, size);
    for (std::int64_t i = 0; i < out.count; ++i) {
        rowSums[i] = dot(douts.data() + i * size, outs.data() + i * size, size);
    }
}

} // namespace

template <class T> void AttentionForward<T>::host(const Args& args) {
    const AttentionMask mask = maskOf(args);
    const std::int64_t hidden = args.heads * args.headSize;
    forEachHead(args, [&](std::int64_t b, std::int64_t h) {
        forwardHead(headOf<T>(args, mask, b, h),
            rowsOf(args.out, hidden, h * args.headSize, args.batch, b, args.seqLen),
            args.logSums + (b * args.heads + h) * args.seqLen, false, args.dropout);
    });
}

template <class T> void AttentionBackward<T>::host(const Args& args) {
    const AttentionMask mask = maskOf(args);
    const std::int64_t hidden = args.heads * args.headSize;
    forEachHead(args, [&](std::int64_t b, std::int64_t h) {
        const std::int64_t column = h * args.headSize;
        const std::int64_t row = (b * args.heads + h) * args.seqLen;
        const auto dout = rowsOf(args.dout, hidden, column, args.batch, b, args.seqLen);
        const auto gradient = [&](std::int64_t which) {
            return rowsOf(args.dqkv, 3 * hidden, which * hidden + column, args.batch, b, args.seqLen);
        };
        sumRows<T>(rowsOf(args.out, hidden, column, args.batch, b, args.seqLen), dout, args.scratch + row,
            args.headSize);
        backwardHead(headOf<T>(args, mask, b, h), dout, args.logSums + row, args.scratch + row, gradient(0),
            gradient(1), gradient(2), false, args.dropout);
    });
}

template <class T> void RingAttentionForward<T>::host(const Args& args) {
    const AttentionMask mask = maskOf(args);
    const std::int64_t hidden = args.heads * args.headSize;
    forEachHead(args, [&](std::int64_t b, std::int64_t h) {
        forwardHead(ringHeadOf<T>(args, mask, b, h),
            rowsOf(args.out, hidden, h * args.headSize, args.batch, b, args.queries),
            args.logSums + (b * args.heads + h) * args.logSumsStep, args.merge, args.dropout);
    });
}

template <class T> void RingAttentionBackward<T>::host(const Args& args) {
    const AttentionMask mask = maskOf(args);
    const std::int64_t hidden = args.heads * args.headSize;
    forEachHead(args, [&](std::int64_t b, std::int64_t h) {
        const std::int64_t column = h * args.headSize;
        const std::int64_t row = (b * args.heads + h) * args.logSumsStep;
        backwardHead(ringHeadOf<T>(args, mask, b, h),
            rowsOf(args.dout, hidden, column, args.batch, b, args.queries), args.logSums + row,
            args.rowSums + row, rowsOf(args.dq, hidden, column, args.batch, b, args.queries),
            rowsOf(args.dkv, 2 * hidden, column, args.batch, b, args.keys),
            rowsOf(args.dkv, 2 * hidden, hidden + column, args.batch, b, args.keys), args.add, args.dropout);
    });
}

template <class T> void AttentionRowSums<T>::host(const Args& args) {
    const std::int64_t hidden = args.heads * args.headSize;
    forEachHead(args, [&](std::int64_t b, std::int64_t h) {
        const std::int64_t column = h * args.headSize;
        sumRows<T>(rowsOf(args.out, hidden, column, args.batch, b, args.seqLen),
            rowsOf(args.dout, hidden, column, args.batch, b, args.seqLen),
            args.rowSums + (b * args.heads + h) * args.seqLen, args.headSize);
    });
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template struct AttentionForward<T>;                                                                     \
    template struct AttentionBackward<T>;                                                                    \
    template struct RingAttentionForward<T>;                                                                 \
    template struct RingAttentionBackward<T>;                                                                \
    template struct AttentionRowSums<T>;
GDT_FOR_EACH_FORMAT(GDT_INSTANTIATE)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels
