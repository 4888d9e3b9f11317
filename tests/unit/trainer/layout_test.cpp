// SPDX-License-Identifier: Apache-2.0
// Every layout over ranks trains what one rank trains. Built twice: with a cover of all pairs of settings,
// and with every combination (GDT_ALL_LAYOUTS).
#include "layout_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace gdt::train {
namespace {

using parallel::RingLayout;
using pipeline::ScheduleKind;
using test::RunResult;

struct Layout {
    int tensor, context, pipeline, data;
    bool sequence;
    ScheduleKind schedule;
    RingLayout ring;
    bool zero1;
    model::Activation activation = model::Activation::Gelu;
    model::Recompute recompute = model::Recompute::None;

    [[nodiscard]] std::string name() const {
        return "tp" + std::to_string(tensor) + (sequence ? "sp" : "") + "_cp" + std::to_string(context)
            + (context > 1 ? (ring == RingLayout::Zigzag ? "zigzag" : "contiguous") : "") + "_pp"
            + std::to_string(pipeline) + (pipeline > 1 ? pipeline::scheduleName(schedule) : "") + "_dp"
            + std::to_string(data) + (zero1 ? "zero1" : "")
            + (activation == model::Activation::Swiglu ? "_swiglu" : "")
            + (recompute == model::Recompute::Full             ? "_full"
                    : recompute == model::Recompute::Selective ? "_selective"
                                                               : "");
    }
    [[nodiscard]] std::vector<int> settings() const {
        return {tensor, context, pipeline, data, sequence ? 1 : 0, static_cast<int>(schedule),
            static_cast<int>(ring), zero1 ? 1 : 0, static_cast<int>(activation), static_cast<int>(recompute)};
    }
};

void addVariants(std::vector<Layout>& list, int tensor, int context, int pipeline, int data) {
    for (const bool sequence : {false, true}) {
        for (const auto schedule :
            {ScheduleKind::OneFOneB, ScheduleKind::GPipe, ScheduleKind::Interleaved, ScheduleKind::Serial}) {
            for (const auto ring : {RingLayout::Zigzag, RingLayout::Contiguous}) {
                for (const bool zero1 : {false, true}) {
                    const bool pointless = (sequence && tensor == 1)
                        || (pipeline == 1 && schedule != ScheduleKind::OneFOneB)
                        || (context == 1 && ring != RingLayout::Zigzag) || (zero1 && data * context == 1);
                    const bool impossible = schedule == ScheduleKind::Interleaved && pipeline == 8;
                    if (!pointless && !impossible) {
                        list.push_back({tensor, context, pipeline, data, sequence, schedule, ring, zero1});
                    }
                }
            }
        }
    }
}

std::vector<Layout> allLayouts() {
    std::vector<Layout> list;
    for (const int tensor : {1, 2, 4, 8}) {
        for (const int context : {1, 2, 4, 8}) {
            for (const int pipeline : {1, 2, 4, 8}) {
                for (const int data : {1, 2, 4, 8}) {
                    const int world = tensor * context * pipeline * data;
                    if (world > 1 && world <= 8) {
                        addVariants(list, tensor, context, pipeline, data);
                    }
                }
            }
        }
    }
    addVariants(list, 3, 1, 1, 1);
    addVariants(list, 1, 3, 1, 1);
    addVariants(list, 1, 1, 3, 1);
    addVariants(list, 1, 1, 1, 3);
    return list;
}

// Settings of the model that are the same on all ranks: each layout with each of them, or with one in turn.
std::vector<Layout> withOptions(const std::vector<Layout>& layouts, bool each) {
    std::vector<Layout> options;
    for (const auto activation : {model::Activation::Gelu, model::Activation::Swiglu}) {
        for (const auto recompute :
            {model::Recompute::None, model::Recompute::Selective, model::Recompute::Full}) {
            Layout option{};
            option.activation = activation;
            option.recompute = recompute;
            options.push_back(option);
        }
    }
    std::vector<Layout> list;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
        for (std::size_t o = each ? 0 : i % options.size(); o < options.size();
             o += each ? 1 : options.size()) {
            list.push_back(layouts[i]);
            list.back().activation = options[o].activation;
            list.back().recompute = options[o].recompute;
        }
    }
    return list;
}

using Pair = std::tuple<std::size_t, int, std::size_t, int>;

std::set<Pair> pairsOf(const Layout& layout) {
    std::set<Pair> pairs;
    const std::vector<int> settings = layout.settings();
    for (std::size_t a = 0; a < settings.size(); ++a) {
        for (std::size_t b = a + 1; b < settings.size(); ++b) {
            pairs.insert({a, settings[a], b, settings[b]});
        }
    }
    return pairs;
}

// Every pair of settings that occurs in some layout occurs in one of these: the layout with most new pairs is
// taken until none is left.
std::vector<Layout> pairwiseCover() {
    const std::vector<Layout> all = withOptions(allLayouts(), true);
    std::vector<std::set<Pair>> left;
    for (const Layout& layout : all) {
        left.push_back(pairsOf(layout));
    }
    std::vector<Layout> cover;
    for (;;) {
        const auto best = std::max_element(
            left.begin(), left.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
        if (best->empty()) {
            return cover;
        }
        cover.push_back(all[static_cast<std::size_t>(best - left.begin())]);
        const std::set<Pair> covered = *best;
        for (std::set<Pair>& pairs : left) {
            std::erase_if(pairs, [&](const Pair& pair) { return covered.contains(pair); });
        }
    }
}

#ifdef GDT_ALL_LAYOUTS
constexpr bool kAll = true;
#else
constexpr bool kAll = false;
#endif

std::vector<Layout> layouts() {
    return kAll ? withOptions(allLayouts(), false) : pairwiseCover();
}

RunConfig runOf(const Layout& layout) {
    RunConfig config = test::tinyRun();
    config.parallel = {layout.tensor, layout.context, layout.data, layout.pipeline};
    config.sequenceParallel = layout.sequence;
    config.schedule = layout.schedule;
    config.virtualStages = layout.schedule == ScheduleKind::Interleaved ? 2 : 1;
    config.ringLayout = layout.ring;
    config.distributedOptimizer = layout.zero1;
    config.bucketElements = 1000; // several buckets, the last one shorter
    if (std::max({layout.tensor, layout.context, layout.pipeline, layout.data}) == 3) {
        config.model.hidden = 12;
        config.model.heads = 6;
        config.model.seqLen = 12;
        config.model.vocab = 9;
        config.model.mlpWidth = 33;
        config.microBatches = 3;
    }
    config.model.activation = layout.activation;
    config.model.recompute = layout.recompute;
    config.model.dropout = 0.1;
    config.model.embeddingDropout = 0.1;
    config.model.attentionDropout = 0.1;
    return config;
}

RunConfig singleRankOf(RunConfig config) {
    config.microBatch *= config.parallel.data; // the same global batch
    config.parallel = {};
    config.sequenceParallel = false;
    config.schedule = ScheduleKind::OneFOneB;
    config.virtualStages = 1;
    config.distributedOptimizer = false;
    config.model.recompute = model::Recompute::None;
    return config;
}

// The single-rank run of a layout, made once for all layouts that share it.
const RunResult& reference(const RunConfig& config) {
    static std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, ElementType, model::Activation>,
        RunResult>
        made;
    const RunConfig single = singleRankOf(config);
    RunResult& result
        = made[{single.microBatch, single.model.hidden, single.steps, single.type, single.model.activation}];
    if (result.records.empty()) {
        result = test::trainRanks(single);
        EXPECT_EQ(result.problem, "");
    }
    return result;
}

double largest(const std::vector<double>& values) {
    double most = 0;
    for (const double value : values) {
        most = std::max(most, std::abs(value));
    }
    return most;
}

void expectClose(const std::map<std::string, std::vector<double>>& tensors,
    const std::map<std::string, std::vector<double>>& expected, double tolerance) {
    ASSERT_EQ(tensors.size(), expected.size());
    for (const auto& [name, values] : expected) {
        const std::vector<double>& own = tensors.at(name);
        ASSERT_EQ(own.size(), values.size()) << name;
        std::vector<double> difference(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            difference[i] = own[i] - values[i];
        }
        EXPECT_LE(largest(difference), tolerance * largest(values)) << name;
    }
}

class LayoutEquality : public ::testing::TestWithParam<Layout> { };

TEST_P(LayoutEquality, TrainsWhatOneRankTrains) {
    const RunConfig config = runOf(GetParam());
    ASSERT_EQ(config.layoutProblem(), "");
    const RunResult& single = reference(config);
    const RunResult spread = test::trainRanks(config);
    ASSERT_EQ(spread.problem, "");
    ASSERT_EQ(spread.records.size(), single.records.size());
    for (std::size_t i = 0; i < single.records.size(); ++i) {
        const double loss = single.records[i].loss;
        EXPECT_NEAR(spread.records[i].loss, loss, 1e-12 * loss) << "step " << i;
        EXPECT_NEAR(spread.records[i].gradNorm, single.records[i].gradNorm, 1e-10) << "step " << i;
    }
    EXPECT_NE(single.records.front().loss, single.records.back().loss);
    expectClose(spread.parameters, single.parameters, 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Layouts, LayoutEquality, ::testing::ValuesIn(layouts()),
    [](const auto& layout) { return layout.param.name(); });

// In single precision: losses of the first steps, and the gradients of the first one, which Adam's first
// moment holds after it.
TEST(LayoutEqualityF32, LossesAndFirstGradientsAgree) {
    for (const Layout& layout : {Layout{2, 2, 2, 1, true, ScheduleKind::OneFOneB, RingLayout::Zigzag, false},
             Layout{4, 1, 1, 2, false, ScheduleKind::OneFOneB, RingLayout::Zigzag, false},
             Layout{1, 4, 2, 1, false, ScheduleKind::GPipe, RingLayout::Contiguous, false}}) {
        RunConfig config = runOf(layout);
        config.type = ElementType::F32;
        config.steps = 1;
        const RunResult& single = reference(config);
        const RunResult spread = test::trainRanks(config);
        ASSERT_EQ(spread.problem, "") << layout.name();
        EXPECT_NEAR(spread.records[0].loss, single.records[0].loss, 1e-5 * single.records[0].loss);
        for (const auto& [name, values] : single.moments) {
            double squares = 0;
            double difference = 0;
            for (std::size_t i = 0; i < values.size(); ++i) {
                squares += values[i] * values[i];
                difference += std::pow(spread.moments.at(name)[i] - values[i], 2);
            }
            EXPECT_GT(squares, 0) << name;
            EXPECT_LE(std::sqrt(difference), 1e-5 * std::sqrt(squares)) << layout.name() << " " << name;
        }
    }
}

// Layouts add up in another order, so their losses differ in the last bit from the first step on, and
// training makes that grow: at the rate of 0.01 a hundred thousand times within twenty steps of this model.
// The same comes of a learning rate that differs in its last bit, on one rank. Layouts must not be further
// apart.
TEST(LayoutEqualityLong, DifferNoMoreThanTheLastBitOfTheRateMakes) {
    RunConfig config = test::tinyRun();
    config.model.hidden = 32;
    config.model.heads = 4;
    config.model.layers = 4;
    config.model.seqLen = 32;
    config.model.dropout = 0.1;
    config.microBatch = 4;
    config.microBatches = 4;
    config.steps = 30;
    config.optimizer.peakRate = 0.01;
    config.optimizer.warmupSteps = 6;
    config.optimizer.decaySteps = config.steps;
    const RunResult single = test::trainRanks(config);
    ASSERT_EQ(single.problem, "");
    const auto apart = [&](const RunResult& other, std::size_t step) {
        const double loss = single.records.at(step).loss;
        return std::abs(other.records.at(step).loss - loss) / loss;
    };
    std::vector<double> allowed(single.records.size(), 1e-13);
    for (const double direction : {0.0, 1.0}) {
        RunConfig nudged = config;
        nudged.optimizer.peakRate = std::nextafter(config.optimizer.peakRate, direction);
        const RunResult other = test::trainRanks(nudged);
        ASSERT_EQ(other.problem, "");
        double most = 0;
        for (std::size_t i = 0; i < allowed.size(); ++i) {
            most = std::max(most, apart(other, i));
            allowed[i] = std::max(allowed[i], 1000 * most);
        }
    }
    const parallel::ParallelSizes layouts[] = {{2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}, {1, 1, 1, 2}};
    for (const parallel::ParallelSizes& sizes : layouts) {
        RunConfig spread = config;
        spread.parallel = sizes;
        spread.microBatch /= sizes.data;
        const RunResult other = test::trainRanks(spread);
        ASSERT_EQ(other.problem, "");
        for (std::size_t i = 0; i < allowed.size(); ++i) {
            EXPECT_LE(apart(other, i), allowed[i]) << "step " << i << " of tp " << sizes.tensor << " cp "
                                                   << sizes.context << " dp " << sizes.data;
        }
    }
}

// In 16 and 8 bits every rank rounds its part of a sum, so layouts agree as far as the format reaches.
TEST(LayoutEqualityNarrow, LossesAgreeWithinTheFormat) {
    for (const ElementType type : {ElementType::BF16, ElementType::F16, ElementType::FP8}) {
        for (const Layout& layout :
            {Layout{2, 2, 2, 1, true, ScheduleKind::OneFOneB, RingLayout::Zigzag, false},
                Layout{2, 1, 1, 2, false, ScheduleKind::OneFOneB, RingLayout::Zigzag, false}}) {
            RunConfig config = runOf(layout);
            config.type = type;
            config.optimizer.lossScale = type == ElementType::F16 ? 1024.0 : 1.0;
            const RunResult& single = reference(config);
            const RunResult spread = test::trainRanks(config);
            ASSERT_EQ(spread.problem, "") << layout.name();
            for (std::size_t i = 0; i < single.records.size(); ++i) {
                const double loss = single.records[i].loss;
                const double band = type == ElementType::F16 ? 1e-3 : type == ElementType::BF16 ? 1e-2 : 3e-2;
                EXPECT_NEAR(spread.records.at(i).loss, loss, band * loss) << layout.name() << ", step " << i;
            }
        }
    }
}

} // namespace
} // namespace gdt::train
