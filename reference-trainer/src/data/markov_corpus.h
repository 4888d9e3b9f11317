// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace gdt::data {

// A language whose difficulty is known: a Markov chain of order two over `vocab` tokens. The next token
// depends on the two before it, so no model can have a lower expected loss than entropyRate(), and a model
// that looks at one token only cannot get below firstOrderEntropy(). All entropies are in nats a token, as
// the loss is.
class MarkovCorpus {
public:
    // `sharpness` scales the random log-odds of the transitions: 0 gives a fair die, 3 a rather predictable
    // text.
    MarkovCorpus(std::int64_t vocab, double sharpness, std::uint64_t seed);

    std::int64_t vocab() const { return m_vocab; }

    // P(next | before, last).
    double probability(std::int64_t before, std::int64_t last, std::int64_t next) const {
        return m_transition[static_cast<std::size_t>((before * m_vocab + last) * m_vocab + next)];
    }

    // Stationary probability of the pair (before, last), by power iteration to a change below 1e-14.
    double pairProbability(std::int64_t before, std::int64_t last) const {
        return m_stationary[static_cast<std::size_t>(before * m_vocab + last)];
    }

    double entropyRate() const { return m_entropyRate; }
    double firstOrderEntropy() const { return m_firstOrderEntropy; }

    // The least expected mean loss over a sequence of `seqLen` predictions when nothing before it is seen:
    // its first prediction has only one token to go by.
    double attainableLoss(std::int64_t seqLen) const;

    // `count` tokens of the chain, begun in its stationary state. Same seed, same text.
    std::vector<std::int32_t> generate(std::int64_t count) const;

private:
    void solveStationary();
    void computeEntropies();

    std::int64_t m_vocab;
    std::uint64_t m_seed;
    std::vector<double> m_transition;
    std::vector<double> m_stationary;
    double m_entropyRate = 0;
    double m_firstOrderEntropy = 0;
};

} // namespace gdt::data
