// SPDX-License-Identifier: Apache-2.0
// Options that would do nothing, faults that could not happen and sizes that no machine has are refused in
// one sentence.
#include "trainer_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace gdt::test;
using testing::HasSubstr;

struct Refused {
    const char* arguments;
    const char* option; // both are named
    const char* other;
};

void expectRefused(const Refused& one) {
    const Outcome outcome = run(one.arguments);
    EXPECT_EQ(outcome.status, 2) << one.arguments;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    EXPECT_THAT(outcome.output, testing::StartsWith("reference-trainer: ")) << one.arguments;
    EXPECT_THAT(outcome.output, HasSubstr(one.option)) << one.arguments;
    EXPECT_THAT(outcome.output, HasSubstr(one.other)) << one.arguments;
}

TEST(TrainerOptions, OneThatDoesNothingIsRefusedWithItsReason) {
    const char* eager = "--graph-mode eager";
    const char* automatic = "--graph-mode auto";
    for (const Refused& one : {Refused{"--graph-mode eager --graph-report", "--graph-report", eager},
             Refused{"--graph-mode eager --guard none", "--guard", eager},
             Refused{"--graph-mode eager --graph-scope full", "--graph-scope", eager},
             Refused{"--graph-mode eager --graph-key slot", "--graph-key", eager},
             Refused{"--graph-mode eager --graph-warmup 4", "--graph-warmup", eager},
             Refused{"--graph-mode eager --max-graphs 4", "--max-graphs", eager},
             Refused{"--graph-mode eager --graph-cache-size 4", "--graph-cache-size", eager},
             Refused{"--graph-mode eager --graph-policy lru", "--graph-policy", eager},
             Refused{"--graph-mode auto --guard none", "--guard", automatic},
             Refused{"--graph-mode auto --graph-warmup 5", "--graph-warmup", automatic},
             Refused{"--graph-mode auto --graph-scope layer", "--graph-scope", automatic},
             Refused{"--graph-mode auto --graph-key cycle", "--graph-key", automatic},
             Refused{"--graph-mode auto --tp 2 --tp-comm fork", "--tp-comm", automatic},
             Refused{"--graph-warmup 9 --steps 9", "--graph-warmup", "--steps"},
             Refused{"--tp-comm fork", "--tp-comm", "--tp 2"},
             Refused{"--graph-scope segment", "--graph-scope", "--tp 2"},
             Refused{"--sequence-parallel", "--sequence-parallel", "--tp 2"},
             Refused{"--cp-layout contiguous", "--cp-layout", "--cp 2"},
             Refused{"--schedule serial", "--schedule", "--pp 2"}, Refused{"--zero1", "--zero1", "--dp 2"},
             Refused{"--tp 2 --bucket-elements 100", "--bucket-elements", "--dp 2"},
             Refused{"--shm-strict 0", "--shm-strict", "--dp"},
             Refused{"--dp 2 --backend cuda --shm-strict 0", "--shm-strict", "--backend cuda"},
             Refused{"--dp 2 --comm model --shm-strict 0", "--shm-strict", "--comm model"},
             Refused{"--dp 2 --comm model --rendezvous x", "--rendezvous", "--comm model"},
             Refused{"--dp 2 --rendezvous x", "--rendezvous", "environment"},
             Refused{"--gpu 0", "--gpu", "--backend host"},
             Refused{"--backend cuda --host-workers 0", "--host-workers", "--backend cuda"},
             Refused{"--dp 2 --as-rank 1", "--as-rank", "--comm model"},
             Refused{"--dp 2 --comm-within-node 5 100", "--comm-within-node", "--comm model"},
             Refused{"--dp 2 --comm-between-nodes 5 100", "--comm-between-nodes", "--comm model"},
             Refused{"--dp 2 --ranks-per-node 1", "--ranks-per-node", "--comm model"},
             Refused{"--dp 2 --comm model --comm-between-nodes 5 100", "--comm-between-nodes",
                 "--ranks-per-node"},
             Refused{"--dp 2 --comm model --ranks-per-node 1 --comm-within-node 5 100", "--comm-within-node",
                 "--ranks-per-node"},
             Refused{"--data x --vocab 9", "--vocab", "--data"},
             Refused{"--data x --corpus-tokens 9000", "--corpus-tokens", "--data"},
             Refused{"--data x --sharpness 2", "--sharpness", "--data"},
             Refused{"--data-format bytes", "--data-format", "--data"},
             Refused{"--data ''", "--data", "empty name"}, Refused{"--save ''", "--save", "empty name"}}) {
        expectRefused(one);
    }
}

TEST(TrainerOptions, DefaultsThatAreSpelledOutAreFine) {
    const Outcome outcome = run(kSmall
        + "--steps 2 --tp 1 --pp 1 --cp 1 --dp 1 --schedule 1f1b --virtual-stages 1 --cp-layout zigzag "
          "--tp-comm "
          "inside --comm real --backend host --host-workers 1 --shm-strict 1 --graph-mode manual --guard "
          "strict "
          "--graph-policy fallback --graph-key cycle --graph-scope cycle,optimizer --save-interval 0 "
          "--padded-vocab 0 --mlp-hidden 0 --host-op-overhead-us 0");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST(TrainerOptions, FaultThatCannotHappenUnderThemIsRefused) {
    for (const Refused& one : {Refused{"--fault replay-jitter:1e9", "replay-jitter", "from 0.01 to 1000"},
             Refused{"--fault item-in-capture@step=4@step=5", "item-in-capture", "@step is given twice"},
             Refused{"--fault item-in-capture --fault item-in-capture", "item-in-capture", "given twice"},
             Refused{"--pp 2 --fault pp-single-microbatch-capture --graph-scope cycle",
                 "pp-single-microbatch-capture", "--graph-scope"},
             Refused{"--fault capture-order --graph-key slot", "capture-order", "--graph-key"},
             Refused{"--tp 2 --fault tp-allreduce-stripped --graph-scope layer", "tp-allreduce-stripped",
                 "--graph-scope"},
             Refused{"--tp 2 --fault tp-allreduce-stripped --tp-comm inside", "tp-allreduce-stripped",
                 "--tp-comm"},
             Refused{"--fault host-control-flow --guard strict", "host-control-flow", "--guard strict"},
             Refused{"--fault lr-frozen --graph-scope cycle", "lr-frozen", "--graph-scope"},
             Refused{"--fault unjoined-fork --graph-scope optimizer", "unjoined-fork", "--graph-scope"},
             Refused{"--fault unjoined-fork --steps 3", "unjoined-fork", "--graph-warmup"},
             Refused{"--fault graph-cache-overflow --seq-len 32", "graph-cache-overflow", "--seq-len"},
             Refused{"--fault graph-cache-overflow:9", "graph-cache-overflow", "--max-graphs"},
             Refused{"--dp 2 --comm model --fault dp-cross-node --ranks-per-node 2", "dp-cross-node",
                 "--ranks-per-node"}}) {
        expectRefused(one);
    }
}

TEST(TrainerOptions, SizesThatNoMachineHasAreRefused) {
    for (const Refused& one : {Refused{"--layers 1000000", "--layers", "1000000"},
             Refused{"--layers 16000 --hidden 512", "device memory", "--layers"},
             Refused{"--hidden 16777216 --heads 16777216", "--hidden / --heads", "1"},
             Refused{"--hidden 16777216 --heads 64", "device memory", "--hidden"},
             Refused{"--hidden 4096 --heads 2048 --layers 100", "device memory", "--hidden"},
             Refused{"--seq-len 16777216 --corpus-tokens 16777218", "device memory", "--seq-len"},
             Refused{"--vocab 513", "--vocab", "513"},
             Refused{"--padded-vocab 16777216", "device memory", "--padded-vocab"},
             Refused{"--mlp-hidden 16777216", "device memory", "--mlp-hidden"},
             Refused{"--micro-batch-size 1099511627776", "device memory", "--micro-batch-size"},
             Refused{"--micro-batches 1099511627776", "host's memory", "--micro-batches"},
             Refused{"--micro-batches 1099511627776 --graph-mode eager", "host's memory", "--micro-batches"},
             Refused{"--micro-batches 1000000000 --schedule gpipe", "device memory", "spread"},
             Refused{"--corpus-tokens 1099511627776", "device memory", "--corpus-tokens"},
             Refused{"--layers 16384 --hidden 16777216 --heads 64 --seq-len 16777216 --micro-batch-size "
                     "1099511627776 --micro-batches 1099511627776 --corpus-tokens 1099511627776",
                 "device memory", "--layers"}}) {
        expectRefused(one);
    }
}

} // namespace
