// SPDX-License-Identifier: Apache-2.0
// Communication that only takes time: how much, what it leaves in memory, and that it is labelled.
#include "collector/api/graphdoctor_runtime.h"
#include "comm/model_communicator.h"
#include "parallel/rank_communicators.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <vector>

namespace gdt::comm {
namespace {

using runtime::Status;

TEST(LinkModel, TimeIsAlphaPlusTheBytesThatARankOfARingSends) {
    const LinkCost link{2, 10}; // 2 us, 10 bytes a ns
    EXPECT_EQ(modelledNs(GD_RT_COMM_SEND, 1000, 4, link), 2000 + 100);
    EXPECT_EQ(modelledNs(GD_RT_COMM_ALL_REDUCE, 1000, 4, link), 2000 + 150);
    EXPECT_EQ(modelledNs(GD_RT_COMM_ALL_GATHER, 1000, 4, link), 2000 + 300);
    EXPECT_EQ(modelledNs(GD_RT_COMM_REDUCE_SCATTER, 1000, 4, link), 2000 + 300);
    EXPECT_EQ(modelledNs(GD_RT_COMM_ALL_REDUCE, 1000, 2, link), 2000 + 100);
}

TEST(LinkModel, AGroupThatSpansNodesHasTheSlowerLink) {
    NetworkModel network;
    network.ranksPerNode = 4;
    EXPECT_FALSE(network.spansNodes({4, 5, 6, 7}));
    EXPECT_TRUE(network.spansNodes({3, 4}));
    EXPECT_EQ(network.linkOf({0, 3}).alphaUs, network.withinNode.alphaUs);
    EXPECT_EQ(network.linkOf({0, 4}).alphaUs, network.betweenNodes.alphaUs);
}

class ModelCommunicatorTest : public ::testing::Test {
protected:
    ModelCommunicatorTest() {
        GDT_CHECK(runtime::Stream::create(m_device, m_stream, runtime::StreamFlags::NonBlocking));
        void* memory = nullptr;
        GDT_CHECK(m_device.allocate(&memory, 64 * sizeof(float)));
        m_memory = static_cast<float*>(memory);
        std::fill(m_memory, m_memory + 64, 0.0F);
    }

    ModelCommunicator communicator(double alphaUs) const {
        ModelCommunicatorOptions options;
        options.network.withinNode = {alphaUs, 1000};
        options.jobRanks = {0, 1, 2};
        options.rank = 1;
        return ModelCommunicator(options);
    }

    // From the first call of the test's operation, since the stream starts at once.
    double secondsSince(std::chrono::steady_clock::time_point start) {
        GDT_CHECK(m_stream.synchronize());
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

    runtime::Device m_device;
    runtime::Stream m_stream;
    float* m_memory = nullptr;
};

TEST_F(ModelCommunicatorTest, LeavesWhatOneRankAloneCanKnow) {
    ModelCommunicator c = communicator(0);
    m_memory[0] = 7;
    ASSERT_EQ(c.allGather(m_memory, m_memory + 8, 1, DataType::Float32, m_stream), Status::Success);
    m_memory[20] = 1;
    m_memory[21] = 2;
    m_memory[22] = 3;
    ASSERT_EQ(c.reduceScatter(m_memory + 20, m_memory + 30, 1, DataType::Float32, ReduceOp::Sum, m_stream),
        Status::Success);
    ASSERT_EQ(
        c.allReduce(m_memory, m_memory + 40, 1, DataType::Float32, ReduceOp::Sum, m_stream), Status::Success);
    c.setSource(m_memory + 20, 2 * sizeof(float));
    ASSERT_EQ(c.receive(m_memory + 50, 2, DataType::Float32, 0, m_stream), Status::Success);
    ASSERT_EQ(m_stream.synchronize(), Status::Success);
    EXPECT_EQ(std::vector<float>(m_memory + 8, m_memory + 12), (std::vector<float>{7, 7, 7, 0}));
    EXPECT_EQ(m_memory[30], 2) << "the part of rank 1";
    EXPECT_EQ(m_memory[40], 7);
    EXPECT_EQ(m_memory[50], 1);
    EXPECT_EQ(m_memory[51], 2);
}

TEST_F(ModelCommunicatorTest, OperationsTakeTheirTimeAndGroupsThatOfOneDirection) {
    ModelCommunicator c = communicator(20'000);
    auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(
        c.allReduce(m_memory, m_memory, 1, DataType::Float32, ReduceOp::Sum, m_stream), Status::Success);
    EXPECT_GE(secondsSince(start), 0.020);
    start = std::chrono::steady_clock::now();
    ASSERT_EQ(c.groupStart(), Status::Success);
    for (const int peer : {0, 2}) {
        ASSERT_EQ(c.send(m_memory, 1, DataType::Float32, peer, m_stream), Status::Success);
        ASSERT_EQ(c.receive(m_memory + 1, 1, DataType::Float32, peer, m_stream), Status::Success);
    }
    ASSERT_EQ(c.groupEnd(), Status::Success);
    EXPECT_GE(secondsSince(start), 0.040) << "two sends one after the other, the receives beside them";
}

// Tensor-parallel sums and their side stream share a communicator.
TEST_F(ModelCommunicatorTest, GroupsOnTwoStreamsAtATimeKeepTheirOwnTimes) {
    ModelCommunicator c = communicator(10'000);
    runtime::Stream other;
    GDT_CHECK(runtime::Stream::create(m_device, other, runtime::StreamFlags::NonBlocking));
    const auto start = std::chrono::steady_clock::now();
    for (runtime::Stream* stream : {&m_stream, &other}) {
        ASSERT_EQ(c.groupStart(), Status::Success);
        for (const int peer : {0, 2}) {
            ASSERT_EQ(c.send(m_memory, 1, DataType::Float32, peer, *stream), Status::Success);
        }
        ASSERT_EQ(c.groupEnd(), Status::Success);
    }
    EXPECT_GE(secondsSince(start), 0.020);
    GDT_CHECK(other.synchronize());
    EXPECT_GE(secondsSince(start), 0.020);
}

TEST_F(ModelCommunicatorTest, IsCapturedLikeAnyOther) {
    ModelCommunicator c = communicator(10'000);
    ASSERT_EQ(m_stream.beginCapture(runtime::CaptureMode::ThreadLocal), Status::Success);
    ASSERT_EQ(
        c.allReduce(m_memory, m_memory, 1, DataType::Float32, ReduceOp::Sum, m_stream), Status::Success);
    runtime::Graph graph;
    ASSERT_EQ(m_stream.endCapture(graph), Status::Success);
    ASSERT_EQ(graph.nodeCount(), 1U);
    EXPECT_EQ(graph.node(0).type, runtime::NodeType::Comm);
    runtime::GraphExec exec;
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(exec.launch(m_stream), Status::Success);
    ASSERT_EQ(exec.launch(m_stream), Status::Success);
    EXPECT_GE(secondsSince(start), 0.020);
}

TEST_F(ModelCommunicatorTest, RefusesWhatARealOneRefuses) {
    ModelCommunicator c = communicator(0);
    EXPECT_EQ(c.send(m_memory, 1, DataType::Float32, 1, m_stream), Status::InvalidValue) << "to itself";
    EXPECT_EQ(c.send(m_memory, 1, DataType::Float32, 3, m_stream), Status::InvalidValue);
    EXPECT_EQ(
        c.allReduce(m_memory, m_memory, 0, DataType::Float32, ReduceOp::Sum, m_stream), Status::InvalidValue);
    EXPECT_EQ(c.groupEnd(), Status::InvalidValue);
    std::string error;
    EXPECT_EQ(c.split(0, 0, error), nullptr);
    EXPECT_FALSE(error.empty());
}

TEST(ModelledRank, HasTheCommunicatorsOfItsPlaceAndTheLinksOfItsGroups) {
    const parallel::ParallelState ranks({2, 1, 2, 2}, 5); // tensor, context, data, pipeline
    parallel::RankCommunicators communicators;
    NetworkModel network;
    network.ranksPerNode = 4;
    const auto texts = communicators.makeModelled(ranks, true, runtime::Backend::Host, network);
    ASSERT_NE(communicators.tensor, nullptr);
    EXPECT_EQ(communicators.tensor->rank(), 1);
    EXPECT_EQ(communicators.pipeline->size(), 2);
    EXPECT_EQ(communicators.pipeline->rank(), 1);
    EXPECT_EQ(communicators.context, nullptr);
    EXPECT_EQ(communicators.agreement->size(), 8);
    ASSERT_NE(communicators.tiedEmbedding, nullptr);
    EXPECT_EQ(texts.front(), "tensor: 2 ranks within a node, each operation 5.0 us + bytes / 370 GB/s");
    EXPECT_NE(std::find(texts.begin(), texts.end(),
                  "pipeline: 2 ranks on several nodes, each operation 12.0 us + bytes / 45 GB/s"),
        texts.end());
}

} // namespace
} // namespace gdt::comm
