// SPDX-License-Identifier: Apache-2.0
#include "data/markov_corpus.h"

#include "kernels/rng.h"

#include <algorithm>
#include <cmath>

namespace gdt::data {

namespace {

constexpr std::uint64_t kTransitionStream = 0x6d61726b6f76;
constexpr std::uint64_t kTextStream = 0x74657874;

std::size_t at(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

// Index of the first entry whose cumulative weight exceeds u; rounding may leave u above the last sum.
std::int64_t pick(const double* weights, std::int64_t count, double u) {
    double sum = 0;
    for (std::int64_t i = 0; i + 1 < count; ++i) {
        sum += weights[i];
        if (u < sum) {
            return i;
        }
    }
    return count - 1;
}

} // namespace

MarkovCorpus::MarkovCorpus(std::int64_t vocab, double sharpness, std::uint64_t seed)
    : m_vocab(vocab)
    , m_seed(seed)
    , m_transition(at(vocab * vocab * vocab))
    , m_stationary(at(vocab * vocab), 1.0 / static_cast<double>(vocab * vocab)) {
    for (std::int64_t pair = 0; pair < vocab * vocab; ++pair) {
        double total = 0;
        double* row = &m_transition[at(pair * vocab)];
        for (std::int64_t next = 0; next < vocab; ++next) {
            const auto index = static_cast<std::uint64_t>(pair * vocab + next);
            row[next] = std::exp(sharpness * kernels::randomNormal(seed, kTransitionStream, index));
            total += row[next];
        }
        for (std::int64_t next = 0; next < vocab; ++next) {
            row[next] /= total;
        }
    }
    solveStationary();
    computeEntropies();
}

void MarkovCorpus::solveStationary() {
    // All transitions are positive, so the chain on pairs is irreducible and aperiodic and this converges.
    std::vector<double> next(m_stationary.size());
    for (int iteration = 0; iteration < 10000; ++iteration) {
        std::fill(next.begin(), next.end(), 0.0);
        for (std::int64_t a = 0; a < m_vocab; ++a) {
            for (std::int64_t b = 0; b < m_vocab; ++b) {
                const double weight = pairProbability(a, b);
                for (std::int64_t c = 0; c < m_vocab; ++c) {
                    next[at(b * m_vocab + c)] += weight * probability(a, b, c);
                }
            }
        }
        double change = 0;
        for (std::size_t i = 0; i < next.size(); ++i) {
            change += std::abs(next[i] - m_stationary[i]);
        }
        m_stationary.swap(next);
        if (change < 1e-14) {
            return;
        }
    }
}

void MarkovCorpus::computeEntropies() {
    for (std::int64_t b = 0; b < m_vocab; ++b) {
        double single = 0;
        std::vector<double> after(at(m_vocab), 0.0);
        for (std::int64_t a = 0; a < m_vocab; ++a) {
            single += pairProbability(a, b);
            for (std::int64_t c = 0; c < m_vocab; ++c) {
                const double p = probability(a, b, c);
                m_entropyRate -= pairProbability(a, b) * p * std::log(p);
                after[at(c)] += pairProbability(a, b) * p;
            }
        }
        for (const double joint : after) {
            m_firstOrderEntropy -= joint * std::log(joint / single);
        }
    }
}

double MarkovCorpus::attainableLoss(std::int64_t seqLen) const {
    const auto n = static_cast<double>(seqLen);
    return (m_firstOrderEntropy + (n - 1.0) * m_entropyRate) / n;
}

std::vector<std::int32_t> MarkovCorpus::generate(std::int64_t count) const {
    std::vector<std::int32_t> text(at(count));
    const double u = kernels::randomUniform(m_seed, kTextStream, 0);
    const std::int64_t pair = pick(m_stationary.data(), m_vocab * m_vocab, u);
    std::int64_t before = pair / m_vocab;
    std::int64_t last = pair % m_vocab;
    for (std::int64_t i = 0; i < count; ++i) {
        const double* row = &m_transition[at((before * m_vocab + last) * m_vocab)];
        const auto index = static_cast<std::uint64_t>(i) + 1;
        const std::int64_t next = pick(row, m_vocab, kernels::randomUniform(m_seed, kTextStream, index));
        text[at(i)] = static_cast<std::int32_t>(next);
        before = last;
        last = next;
    }
    return text;
}

} // namespace gdt::data
