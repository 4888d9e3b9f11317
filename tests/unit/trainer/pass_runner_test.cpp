// SPDX-License-Identifier: Apache-2.0
#include "train/pass_runner.h"

#include <gtest/gtest.h>

namespace gdt::train {
namespace {

using graphs::Scope;
using model::StepKind;
using model::StepList;

// Embedding, then a layer with a collective and a ring of two hops, then the head with a collective.
StepList somePass() {
    const auto nothing = [](const model::Pass&, int) { return runtime::Status::Success; };
    return {
        {StepKind::Compute, -1, -1, nothing},
        {StepKind::Compute, 0, -1, nothing},
        {StepKind::RingComm, 0, 0, nothing},
        {StepKind::RingCompute, 0, 0, nothing},
        {StepKind::RingCompute, 0, 1, nothing},
        {StepKind::TensorComm, 0, -1, nothing},
        {StepKind::Compute, 0, -1, nothing},
        {StepKind::Compute, 1, -1, nothing},
        {StepKind::TensorComm, 1, -1, nothing},
        {StepKind::Compute, 1, -1, nothing},
    };
}

TEST(CutPass, EachScopeHasItsOwnBorders) {
    const StepList pass = somePass();
    EXPECT_EQ(cutPass(pass, Scope::Microbatch, false), (std::vector<Unit>{{0, 10, true}}));
    EXPECT_EQ(
        cutPass(pass, Scope::Layer, false), (std::vector<Unit>{{0, 1, true}, {1, 6, true}, {7, 3, true}}));
    EXPECT_EQ(cutPass(pass, Scope::Segment, false),
        (std::vector<Unit>{{0, 5, true}, {5, 1, false}, {6, 2, true}, {8, 1, false}, {9, 1, true}}));
    EXPECT_EQ(cutPass(pass, Scope::Hop, false),
        (std::vector<Unit>{{0, 2, false}, {2, 2, true}, {4, 1, true}, {5, 5, false}}));
}

TEST(CutPass, BlindCaptureBreaksAtEveryCommunication) {
    EXPECT_EQ(cutPass(somePass(), Scope::Microbatch, true),
        (std::vector<Unit>{{0, 2, true}, {2, 1, false}, {3, 2, true}, {5, 1, false}, {6, 2, true},
            {8, 1, false}, {9, 1, true}}));
}

} // namespace
} // namespace gdt::train
