// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

class FrozenShapeTest : public testing::Test {
protected:
    static constexpr std::int64_t kComm = 0xabc;

    // Eager runs of some layers of two kernels and a collective, the kernels with these grids.
    void eager(const std::vector<std::int64_t>& grids) {
        for (const std::int64_t grid : grids) {
            for (const std::string& name : kernels()) {
                // The kernel itself gives the launch its shape.
                trace.kernel(name, m_atNs, m_atNs + 5, {.grid = grid});
                trace.sql("INSERT INTO eager_launch SELECT 1, " + std::to_string(++m_launch) + ", "
                    + std::to_string(m_atNs)
                    + ", 1, 7, shape_id, NULL, NULL FROM kernel_shape JOIN string ON "
                      "string_id = name_id WHERE text = '"
                    + name + "' AND grid_x = " + std::to_string(grid));
                m_atNs += 10;
            }
            trace.commOp(kComm, "all_reduce", grid * 16, m_atNs);
            m_atNs += 10;
        }
    }
    void graph(std::int64_t id, std::int64_t grid) {
        trace.capturedGraph(id, m_atNs, m_atNs + 50, kernels(), "cycle", grid);
        trace.commOp(kComm, "all_reduce", grid * 16, m_atNs + 5, id);
        m_atNs += 100;
        for (int i = 0; i < 4; ++i, m_atNs += 100)
            trace.replay(id, m_atNs, m_atNs + 10, m_atNs + 20, m_atNs + 90);
    }
    std::string found() {
        build(trace);
        return trace.text(
            "SELECT COALESCE((SELECT group_concat(exec_id || ': ' || kernel || ' ' || eager_text || "
            "' / ' || frozen_text || ', ' || COALESCE(comm_eager_text || ' / ' || comm_bytes, "
            "'-') || ' x' || replays) FROM frozen_shape), 'none')");
    }

    std::vector<std::string> kernels() const {
        std::vector<std::string> names;
        for (int layer = 0; layer < layers; ++layer)
            names.insert(names.end(), {"attention", "mlp"});
        return names;
    }

    TraceBuilder trace;
    int layers = 16;

private:
    std::int64_t m_atNs = 1000;
    std::int64_t m_launch = 0;
};

TEST_F(FrozenShapeTest, SeveralSizesAndOneGraph) {
    eager({64, 56, 48});
    graph(1, 64);
    EXPECT_EQ(found(), "1: attention 64, 56, 48 / 64, 1024, 896, 768 / 1024 x4");
    EXPECT_EQ(trace.number("SELECT sizes * 100 + kernels FROM frozen_shape"), 332);
}

TEST_F(FrozenShapeTest, OneSize) {
    eager({64, 64, 64});
    graph(1, 64);
    EXPECT_EQ(found(), "none");
    EXPECT_EQ(trace.text("SELECT known || ' ' || eager_runs || ' ' || sizes FROM frozen_shape"), "1 3 1");
}

TEST_F(FrozenShapeTest, AGraphForEachSize) {
    eager({64, 56, 48});
    graph(1, 64);
    graph(2, 56);
    EXPECT_EQ(found(), "none");
}

// A piece of a layer occurs at many places of a model.
TEST_F(FrozenShapeTest, FewKernelsSayNothing) {
    layers = 15;
    eager({64, 56, 48});
    graph(1, 64);
    EXPECT_EQ(found(), "none");
    EXPECT_EQ(trace.text("SELECT known || ' ' || why FROM frozen_shape"),
        "0 the graphs have too few kernels to be told from others");
}

TEST_F(FrozenShapeTest, AnUpdatedExecutableHasOtherSizes) {
    eager({64, 56, 48});
    graph(1, 64);
    trace.sql("INSERT INTO exec_update VALUES (1, 1, 1, 500, 510, 1, 0, 0, NULL)");
    EXPECT_EQ(found(), "none");
}

TEST_F(FrozenShapeTest, OtherKernelsAreNoRunsOfTheGraph) {
    eager({64});
    graph(1, 64);
    trace.kernel("attention", 5, 6, {.grid = 32});
    EXPECT_EQ(found(), "none");
    EXPECT_EQ(trace.text("SELECT known || ' ' || eager_runs FROM frozen_shape"), "0 1");
}

TEST_F(FrozenShapeTest, UnknownWithoutEagerRuns) {
    graph(1, 64);
    EXPECT_EQ(found(), "none");
    EXPECT_EQ(trace.text("SELECT known || ' ' || why FROM frozen_shape"),
        "0 no eager run of a graph's kernels was recorded to compare it with");
}

} // namespace
} // namespace gd::facts
