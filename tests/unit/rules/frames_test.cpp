// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/frames.h"

#include "analyzer/schema/schema_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gd::rules {
namespace {

Location native(const std::string& function, const std::string& module, const std::string& file = "") {
    return {file, 0, function, module, "native"};
}
Location python(const std::string& function, const std::string& file) {
    return {file, 1, function, "", "python"};
}

bool isInstalled(const FrameFilter& filter, const Location& frame) {
    return filter.kindOf(frame) == FrameFilter::Kind::installed;
}

FrameFilter shipped() {
    return std::move(FrameFilter::load(GD_SOURCE_DIR "/rules/frames.txt")).value();
}

TEST(FrameFilter, ShippedListSkipsLibrariesAndKeepsUserCode) {
    const FrameFilter filter = shipped();
    EXPECT_TRUE(filter.skips(native("cuLaunchKernel", "/usr/lib/x86_64-linux-gnu/libcuda.so.580.1")));
    EXPECT_TRUE(filter.skips(native("void at::native::item<float>(at::Tensor const&)", "/opt/ext.so")));
    EXPECT_TRUE(filter.skips(native("c10::cuda::device_synchronize()", "/x/libc10_cuda.so")));
    EXPECT_TRUE(filter.skips(native("_PyEval_EvalFrameDefault", "/usr/bin/python3.12")));
    EXPECT_TRUE(filter.skips(native("gdt::runtime::host::launch(int)", "/b/reference-trainer")));
    EXPECT_TRUE(filter.skips(python("run", "/usr/lib/python3.12/threading.py")));
    EXPECT_TRUE(filter.skips(python("backward", "/v/lib/python3.12/site-packages/torch/_tensor.py")));
    EXPECT_TRUE(filter.skips(python("_call", "<frozen importlib._bootstrap>")));

    EXPECT_FALSE(filter.skips(native("gdt::train::step(int)", "/b/reference-trainer", "src/train.cpp")));
    EXPECT_FALSE(filter.skips(native("main", "/home/u/trainer")));
    EXPECT_FALSE(filter.skips(python("train", "/home/me/train.py")));
    EXPECT_FALSE(filter.skips(python("forward", "/v/lib/python3.12/site-packages/mymodel/net.py")));
    EXPECT_FALSE(filter.skips(python("step", "/v/lib/python3.12/site-packages/torchtitan/train.py")));
    EXPECT_FALSE(filter.skips(native("attention::run()", "/home/u/build/model.so")));
}

TEST(FrameFilter, ShippedListKnowsInstalledPackagesAndGeneratedCode) {
    const FrameFilter filter = shipped();
    EXPECT_TRUE(isInstalled(filter, python("forward", "/v/lib/python3.12/site-packages/gpytorch/kernel.py")));
    EXPECT_TRUE(isInstalled(filter, python("main", "/usr/lib/python3/dist-packages/tool/cli.py")));
    EXPECT_TRUE(isInstalled(filter, native("Submit()", "/v/lib/python3.12/site-packages/jax_plugins/x.so")));
    EXPECT_TRUE(isInstalled(filter, python("<module>", "/v/bin/some-trainer")));
    EXPECT_TRUE(filter.skips(python("call", "/tmp/torchinductor_me/4y/c4ygf.py")));
    EXPECT_TRUE(filter.skips(python("forward", "<eval_with_key>.7")));
    for (const Location& own : {python("step", "/home/me/train.py"), python("<module>", "binary.py"),
             native("main", "/usr/local/bin/solver", "/src/solver/main.cpp")})
        EXPECT_TRUE(!isInstalled(filter, own) && !filter.skips(own)) << own.file;
}

// Python's packages bring libraries of their own, and their stacks name the files of whoever built them.
TEST(FrameFilter, ShippedListSkipsLibrariesThatPythonPackagesBring) {
    const FrameFilter filter = shipped();
    const std::string packages = "/v/lib/python3.12/site-packages/";
    for (const std::string library : {"nvidia/nccl/lib/libnccl.so.2", "nvidia/cudnn/lib/libcudnn_graph.so.9",
             "nvidia/cublas/lib/libcublasLt.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.13",
             "nvidia/cuda_cupti/lib/libcupti.so.13", "nvidia/cufft/lib/libcufft.so.12",
             "somewhere/libnccl.so.2", "torch/lib/libtorch_cuda.so", "nvidia/other/lib/libother.so"})
        EXPECT_TRUE(filter.skips(native("f", packages + library, "/elsewhere/f.cc"))) << library;
    EXPECT_TRUE(filter.skips(native("at::native::item()", packages + "mymodel/_ext.so")));
    EXPECT_TRUE(filter.skips(native(
        "nvtxDomainRangePushEx", "/b/job", "/usr/local/cuda/include/nvtx3/nvtxDetail/nvtxImplCore.h")));
    EXPECT_TRUE(
        filter.skips(native("taskAppend", "/b/job", "/dvs/p4/build/sw/gpgpu/nccl/stable/src/enqueue.cc")));
    EXPECT_TRUE(filter.skips(
        native("gdt::kernels::cuda::entry<int>()::{lambda()#1}::_FUN()", "/b/reference-trainer")));

    EXPECT_FALSE(filter.skips(native("step(int)", packages + "mymodel/_ext.so", "/home/u/step.cu")));
    EXPECT_FALSE(filter.skips(native("ranks()", "/b/job", "/home/u/nccl_ranks.cu")));
}

TEST(FrameFilter, LastMatchDecides) {
    FrameFilter filter
        = std::move(FrameFilter::parse("path /a/*\nkeep path /a/mine/*\n# note\n", "f")).value();
    EXPECT_TRUE(filter.skips(python("f", "/a/x.py")));
    EXPECT_FALSE(filter.skips(python("f", "/a/mine/x.py")));
    filter.skipAlso("/a/mine/wrap*");
    EXPECT_TRUE(filter.skips(python("f", "/a/mine/wrapper.py")));
    filter.skipAlso("helper*");
    EXPECT_TRUE(filter.skips(native("void helper<int>(int)", "/b/x")));
    EXPECT_FALSE(filter.skips(python("f", "/a/mine/x.py")));
}

TEST(FrameFilter, NamesTheLineOfAnError) {
    EXPECT_EQ(FrameFilter::parse("module a\nmodul b\n", "frames.txt").error().message,
        "frames.txt:2: expected \"[keep|installed] module|path|function GLOB\", found \"modul b\"");
    EXPECT_FALSE(FrameFilter::parse("module", "f"));
    EXPECT_FALSE(FrameFilter::parse("keep", "f"));
}

TEST(BareFunctionName, DropsReturnTypeAndArguments) {
    EXPECT_EQ(bareFunctionName("main"), "main");
    EXPECT_EQ(bareFunctionName("void at::f<int, long>(at::Tensor const&)"), "at::f<int, long>");
    EXPECT_EQ(bareFunctionName("std::vector<int, std::allocator<int> > a::b(int)"), "a::b");
    EXPECT_EQ(bareFunctionName("a::(anonymous namespace)::f(int)"), "a::(anonymous namespace)::f");
    EXPECT_EQ(bareFunctionName("bool a::B::operator< (B const&) const"), "a::B::operator< (B const&) const");
    EXPECT_EQ(bareFunctionName("my_operator(int)"), "my_operator");
    EXPECT_EQ(bareFunctionName(""), "");
    EXPECT_EQ(bareFunctionName(">>><("), ">>><(");
}

class LocationFinderTest : public testing::Test {
protected:
    LocationFinderTest() {
        for (const schema::RawSchema& part : schema::rawSchemas())
            EXPECT_TRUE(db.exec(part.sql));
    }
    void add(int stack, const std::string& language, int position, const std::string& function,
        const std::string& file, int line, const std::string& module) {
        auto insert
            = std::move(db.prepare("INSERT INTO stack_frame VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0)"))
                  .value();
        ASSERT_TRUE(insert.runWith(stack, language, position, function, file, line, module));
    }
    Db db = std::move(Db::openInMemory()).value();
    FrameFilter filter = shipped();
};

TEST_F(LocationFinderTest, PythonWinsAndSkippedFramesAreLeftOut) {
    add(5, "native", 0, "cuStreamSynchronize", "", 0, "/lib/libcuda.so.1");
    add(5, "native", 1, "Loader::next()", "loader.cpp", 7, "/x/loader.so");
    add(5, "python", 0, "item", "/v/lib/python3.12/site-packages/torch/_tensor.py", 99, "");
    add(5, "python", 1, "train", "/w/train.py", 133, "");
    auto finder = std::move(LocationFinder::open(db, filter)).value();
    const auto found = std::move(finder.find(base::StackId(5))).value();
    ASSERT_EQ(found.locations.size(), 2U);
    EXPECT_EQ(found.locations[0].file, "/w/train.py");
    EXPECT_EQ(found.locations[0].line, 133);
    EXPECT_EQ(found.locations[0].language, "python");
    EXPECT_EQ(found.locations[1].function, "Loader::next()");
    EXPECT_EQ(found.reason, "");
}

// The place to change is in the job; what it called stays visible.
TEST_F(LocationFinderTest, TheJobsOwnFrameComesBeforeThoseOfThePackageItCalled) {
    const std::string package = "/v/lib/python3.12/site-packages/gpytorch/";
    add(9, "native", 0, "cuStreamSynchronize", "", 0, "/lib/libcuda.so.1");
    for (int i = 0; i < 20; ++i)
        add(9, "python", i, "f" + std::to_string(i), package + "kernel.py", 100 + i, "");
    add(9, "python", 20, "objective", "/w/fit.py", 34, "");
    add(9, "python", 21, "fit_loop", package + "fit.py", 300, "");
    add(9, "python", 22, "<module>", "/w/fit.py", 60, "");
    auto finder = std::move(LocationFinder::open(db, filter)).value();
    const auto found = std::move(finder.find(base::StackId(9))).value();
    std::vector<std::string> seen;
    for (const Location& location : found.locations)
        seen.push_back(location.function + (location.inside ? " inside" : ""));
    EXPECT_THAT(seen, testing::ElementsAre("objective", "f0 inside", "f1 inside", "fit_loop", "<module>"));
}

TEST_F(LocationFinderTest, APackagesFrameIsThePlaceWhereThereIsNoOther) {
    for (int i = 0; i < 10; ++i)
        add(10, "python", i, "f" + std::to_string(i), "/v/site-packages/vllm/engine.py", 100 + i, "");
    add(10, "python", 10, "<module>", "/v/bin/vllm", 8, "");
    auto finder = std::move(LocationFinder::open(db, filter)).value();
    const auto found = std::move(finder.find(base::StackId(10))).value();
    ASSERT_EQ(found.locations.size(), 8U);
    EXPECT_EQ(found.locations[0].function, "f0");
    EXPECT_FALSE(found.locations[0].inside);
}

TEST_F(LocationFinderTest, SaysWhyThereIsNoLocation) {
    add(6, "native", 0, "cuMemAlloc_v2", "", 0, "/lib/libcuda.so.1");
    auto finder = std::move(LocationFinder::open(db, filter)).value();
    EXPECT_EQ(finder.find(base::StackId::none())->reason, "no call stack was recorded");
    EXPECT_EQ(finder.find(base::StackId(77))->reason, "the recorded call stack has no frames");
    EXPECT_EQ(finder.find(base::StackId(6))->reason,
        "the only frame of the call stack lies in libraries and frameworks, the innermost in cuMemAlloc_v2");
    add(7, "native", 0, "cudaHostAlloc", "", 0, "/lib/libcudart.so.13");
    add(7, "python", 0, "pin_memory", "/p/site-packages/torch/utils/data/_utils/pin_memory.py", 98, "");
    EXPECT_EQ(finder.find(base::StackId(7))->reason,
        "all 2 frames of the call stack lie in libraries and frameworks, the innermost in pin_memory "
        "(/p/site-packages/torch/utils/data/_utils/pin_memory.py:98)");
    add(8, "native", 0, "at::native::item(at::Tensor const&)", "", 0, "/lib/libtorch_cuda.so");
    add(8, "native", 1, "torch::autograd::Engine::evaluate_function(int)", "", 0, "/lib/libtorch_cpu.so");
    EXPECT_THAT(
        finder.find(base::StackId(8))->reason, testing::HasSubstr("autograd thread, which runs no Python"));
}

} // namespace
} // namespace gd::rules
