// SPDX-License-Identifier: Apache-2.0
#include "data/markov_corpus.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gdt::data {
namespace {

TEST(MarkovCorpus, StationaryDistributionIsLeftAloneByAStep) {
    const MarkovCorpus corpus(5, 2.0, 11);
    double total = 0;
    for (int b = 0; b < 5; ++b) {
        for (int c = 0; c < 5; ++c) {
            double after = 0;
            for (int a = 0; a < 5; ++a) {
                after += corpus.pairProbability(a, b) * corpus.probability(a, b, c);
            }
            EXPECT_NEAR(after, corpus.pairProbability(b, c), 1e-12);
            total += corpus.pairProbability(b, c);
        }
    }
    EXPECT_NEAR(total, 1.0, 1e-12);
}

TEST(MarkovCorpus, FairDieHasTheEntropyOfTheVocabulary) {
    const MarkovCorpus corpus(6, 0.0, 1);
    EXPECT_NEAR(corpus.entropyRate(), std::log(6.0), 1e-12);
    EXPECT_NEAR(corpus.firstOrderEntropy(), std::log(6.0), 1e-12);
}

TEST(MarkovCorpus, TextHasTheStatedEntropyRate) {
    const MarkovCorpus corpus(8, 1.5, 3);
    EXPECT_GT(corpus.firstOrderEntropy(), corpus.entropyRate() * 1.1) << "order two must matter";
    const std::vector<std::int32_t> text = corpus.generate(200000);
    double cost = 0;
    for (std::size_t i = 2; i < text.size(); ++i) {
        cost -= std::log(corpus.probability(text[i - 2], text[i - 1], text[i]));
    }
    EXPECT_NEAR(cost / static_cast<double>(text.size() - 2), corpus.entropyRate(), 0.01);
}

TEST(MarkovCorpus, SameSeedSameTextOtherSeedOtherText) {
    EXPECT_EQ(MarkovCorpus(8, 1.5, 3).generate(100), MarkovCorpus(8, 1.5, 3).generate(100));
    EXPECT_NE(MarkovCorpus(8, 1.5, 3).generate(100), MarkovCorpus(8, 1.5, 4).generate(100));
}

TEST(MarkovCorpus, AttainableLossCountsTheFirstPrediction) {
    const MarkovCorpus corpus(8, 1.5, 3);
    EXPECT_DOUBLE_EQ(corpus.attainableLoss(1), corpus.firstOrderEntropy());
    EXPECT_NEAR(corpus.attainableLoss(1000000), corpus.entropyRate(), 1e-5);
}

} // namespace
} // namespace gdt::data
