// SPDX-License-Identifier: Apache-2.0
// Every kernel of the trainer has a CUDA version. Needs no GPU.
#include "kernels/attention.h"
#include "kernels/columns.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/fetch_tokens.h"
#include "kernels/fp8.h"
#include "kernels/gemm.h"
#include "kernels/modelled_transfer.h"
#include "kernels/norm.h"
#include "kernels/optimizer.h"
#include "kernels/ring_attention.h"
#include "kernels/swiglu.h"
#include "kernels/vocab_parallel.h"
#include "runtime/cuda/launcher.h"
#include "runtime/device.h"

#include <gtest/gtest.h>

#include <string>

namespace gdt::kernels {
namespace {

template <class... K> void expectLaunchers() {
    for (const char* name : {K::kName...}) {
        const runtime::cuda::Launcher* launcher = runtime::cuda::findLauncher(name);
        ASSERT_NE(launcher, nullptr) << name;
        EXPECT_EQ(std::string(launcher->name), name);
        EXPECT_NE(launcher->launch, nullptr);
    }
}

template <class T> void expectAll() {
    expectLaunchers<AttentionForward<T>, ShortAttentionForward<T>, AttentionBackward<T>,
        RingAttentionForward<T>, RingAttentionBackward<T>, AttentionRowSums<T>, CopyColumns<T>,
        RoundColumns<T>, SoftmaxCrossEntropy<T>, LossAccumulate<T>, BiasDropoutAdd<T>, Dropout<T>,
        GeluForward<T>, GeluBackward<T>, ResidualAdd<T>, BiasBackward<T>, InitNormal<T>, RoundValues<T>,
        EmbeddingForward<T>, EmbeddingBackward<T>, Rotary<T>, Gemm<T>, Gemm<T, Wide<T>>, LayerNormForward<T>,
        LayerNormBackward<T>, RmsNormForward<T>, RmsNormBackward<T>, AdamW<T>, SumOfSquares<Wide<T>>,
        VocabEmbeddingForward<T>, VocabEmbeddingBackward<T>, VocabMaximum<T>, VocabSums<T>, SwigluForward<T>,
        SwigluBackward<T>, VocabCrossEntropy<T>>();
}

TEST(CudaTable, HasEveryKernelInEveryFormat) {
    expectAll<float>();
    expectAll<double>();
    expectAll<BFloat16>();
    expectAll<Float16>();
    expectLaunchers<QuantizeFp8<BFloat16>, GemmFp8<BFloat16>, GemmFp8<float>, UpdateFp8Scales, SetFp8Scale>();
    expectLaunchers<FetchTokens, LearningRateSchedule, ClipCoefficient, FinishStep, ModelledTransfer,
        SetScalar>();
    EXPECT_EQ(runtime::cuda::findLauncher("no_such_kernel"), nullptr);
}

TEST(CudaBackend, SaysInOneSentenceWhyNoGpuCanBeUsed) {
    const std::string problem = runtime::backendProblem(runtime::Backend::Cuda, 1 << 20);
    EXPECT_FALSE(problem.empty()) << "nobody has that many GPUs";
    EXPECT_EQ(problem.find('\n'), std::string::npos);
    EXPECT_TRUE(runtime::backendProblem(runtime::Backend::Host).empty());
}

} // namespace
} // namespace gdt::kernels
