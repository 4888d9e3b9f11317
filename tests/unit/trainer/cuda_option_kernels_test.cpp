// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of the model's options against the host kernels in double on the same, already rounded,
// inputs.
#include "kernels/attention.h"
#include "kernels/fp8.h"
#include "kernels/ring_attention.h"
#include "kernels/swiglu.h"

#include "cuda_harness.h"

namespace gdt::kernels {
namespace {

using test::expectClose;
using test::fromDouble;
using test::normals;
using test::rounded;
using test::tolerance;
using Values = std::vector<double>;

template <class T> class OptionKernels : public test::TypedGpu<T> { };
TYPED_TEST_SUITE(OptionKernels, test::DeviceTypes);

TYPED_TEST(OptionKernels, Swiglu) {
    using T = TypeParam;
    for (const auto& [rows, width] : {std::pair{5L, 3L}, {700L, 1024L}, {70000L, 8L}, {33L, 4104L}}) {
        const auto count = static_cast<std::size_t>(rows * width);
        const Values x = rounded<T>(normals<double>(2 * count, 1, 2.0));
        const Values dout = rounded<T>(normals<double>(count, 2));
        Values out(count), dx(2 * count);
        SwigluForward<double>::host({x.data(), out.data(), rows, width});
        SwigluBackward<double>::host({x.data(), dout.data(), dx.data(), rows, width});
        T* gpuX = this->template put<T>(x);
        T* gpuOut = this->template poison<T>(count);
        T* gpuGradient = this->template poison<T>(2 * count);
        this->template run<SwigluForward<T>>({gpuX, gpuOut, rows, width});
        this->template run<SwigluBackward<T>>({gpuX, this->template put<T>(dout), gpuGradient, rows, width});
        expectClose(this->get(gpuOut, count), out, tolerance<T>(), "swiglu forward");
        expectClose(this->get(gpuGradient, 2 * count), dx, tolerance<T>(), "swiglu backward");
    }
}

// Heads of 64 and 128 run on tensor cores in bf16.
TYPED_TEST(OptionKernels, AttentionDropout) {
    using T = TypeParam;
    using W = Wide<T>;
    const std::int64_t firstSample = 7;
    const std::int64_t* gpuSample = this->putRaw(std::vector{firstSample});
    for (const auto& [seq, batch, heads, size] : {std::tuple{5L, 2L, 3L, 4L}, {65L, 2L, 2L, 40L},
             {200L, 1L, 2L, 64L}, {193L, 2L, 1L, 128L}, {449L, 2L, 3L, 64L}, {450L, 1L, 3L, 128L}}) {
        const auto in = static_cast<std::size_t>(seq * batch * 3 * heads * size);
        const auto rows = static_cast<std::size_t>(seq * batch * heads);
        const Values qkv = rounded<T>(normals<double>(in, 1, 1.5));
        const Values dout = rounded<T>(normals<double>(in / 3, 2));
        Values out(in / 3), logSums(rows), dqkv(in), scratch(rows);
        const auto dropped = [&, seq = seq, heads = heads](auto args, const std::int64_t* sample) {
            args.dropout = 0.3;
            args.seed = 5;
            args.stream = 9;
            args.firstSample = sample;
            args.firstHead = 2;
            args.allHeads = heads + 4;
            args.wholeLen = seq;
            return args;
        };
        using Forward = AttentionForward<double>;
        using Backward = AttentionBackward<double>;
        Forward::host(
            dropped(typename Forward::Args{qkv.data(), out.data(), logSums.data(), seq, batch, heads, size},
                &firstSample));
        Backward::host(dropped(typename Backward::Args{qkv.data(), out.data(), logSums.data(), dout.data(),
                                   dqkv.data(), scratch.data(), seq, batch, heads, size},
            &firstSample));
        T* gpuQkv = this->template put<T>(qkv);
        T* gpuOut = this->template poison<T>(in / 3);
        W* gpuSums = this->template poison<W>(rows);
        T* gpuGradient = this->template poison<T>(in);
        this->template run<AttentionForward<T>>(dropped(
            typename AttentionForward<T>::Args{gpuQkv, gpuOut, gpuSums, seq, batch, heads, size}, gpuSample));
        this->template run<AttentionBackward<T>>(
            dropped(typename AttentionBackward<T>::Args{gpuQkv, gpuOut, gpuSums, this->template put<T>(dout),
                        gpuGradient, this->template poison<W>(rows), seq, batch, heads, size},
                gpuSample));
        const std::string name = "attention with dropout, head size " + std::to_string(size);
        expectClose(this->get(gpuOut, in / 3), out, 2 * tolerance<T>(), name);
        expectClose(this->get(gpuSums, rows), logSums, 10 * tolerance<W>(), name + ", log sums");
        expectClose(this->get(gpuGradient, in), dqkv, 4 * tolerance<T>(), name + ", gradient");
    }
}

class Fp8Kernels : public test::Gpu {
protected:
    // Bytes of normal numbers in the format.
    static std::vector<std::uint8_t> bytesOf(
        std::int64_t count, std::uint64_t stream, const SmallFormat& format) {
        std::vector<std::uint8_t> bytes;
        for (const double v : normals<double>(static_cast<std::size_t>(count), stream)) {
            bytes.push_back(static_cast<std::uint8_t>(encode(static_cast<float>(v), format, true)));
        }
        return bytes;
    }

    // Against the host's product of the same bytes; sizes are multiples of 16, as the hardware wants.
    template <class C> void expectProduct(std::int64_t m, std::int64_t n, std::int64_t k, bool gradient) {
        const std::vector<std::uint8_t> a = bytesOf(m * k, 1, gradient ? kE5M2 : kE4M3);
        const std::vector<std::uint8_t> b = bytesOf(n * k, 2, kE4M3);
        const bool narrowed = std::is_same_v<C, BFloat16>;
        const auto count = static_cast<std::size_t>(m * n);
        const std::vector<Fp8Inverse> inverse{{0.25F}, {8.0F}};
        std::vector<float> wanted(count, 3.0F);
        const Values biasValues = rounded<BFloat16>(normals<double>(static_cast<std::size_t>(n), 3));
        GemmFp8<float>::host({a.data(), b.data(), wanted.data(), nullptr, inverse.data(), inverse.data() + 1,
            m, n, k, narrowed ? 0.0F : 1.0F, gradient});
        for (std::size_t i = 0; narrowed && i < count; ++i) {
            wanted[i] += static_cast<float>(biasValues[i % static_cast<std::size_t>(n)]);
        }
        const Fp8Inverse* gpuInverse = putRaw(inverse);
        C* gpuOut = put<C>(Values(count, 3.0));
        run<GemmFp8<C>>({putRaw(a), putRaw(b), gpuOut, narrowed ? put<BFloat16>(biasValues) : nullptr,
            gpuInverse, gpuInverse + 1, m, n, k, narrowed ? 0.0F : 1.0F, gradient});
        // Hopper adds products of 8-bit factors with fewer bits than fp32 has: 1.02e-4 measured at depth
        // 1024.
        expectClose(get(gpuOut, count), Values(wanted.begin(), wanted.end()),
            narrowed ? tolerance<BFloat16>() : 3e-4, "product of 8-bit factors");
    }
};

TEST_F(Fp8Kernels, QuantizesAsTheHostDoes) {
    for (const auto& [rows, columns] :
        {std::pair{5L, 3L}, {64L, 48L}, {1000L, 768L}, {33L, 40L}, {1024L, 768L}, {144L, 200L}, {16L, 8L}}) {
        for (const bool gradient : {false, true}) {
            for (const bool transposed : {false, true}) {
                const auto count = static_cast<std::size_t>(rows * columns);
                std::vector<BFloat16> x;
                for (const double v : normals<double>(count, 1, 3.0)) {
                    x.push_back(fromDouble<BFloat16>(v * std::exp2(v)));
                }
                std::vector<std::uint8_t> wanted(count);
                float amax = 0.5F;
                const float scale = 64.0F;
                QuantizeFp8<BFloat16>::host(
                    {x.data(), wanted.data(), &amax, &scale, rows, columns, gradient, transposed});
                auto* out = putRaw(std::vector<std::uint8_t>(count, 0xaa));
                auto* gpuAmax = putRaw(std::vector<float>{0.5F});
                run<QuantizeFp8<BFloat16>>({putRaw(x), out, gpuAmax, putRaw(std::vector<float>{scale}), rows,
                    columns, gradient, transposed});
                EXPECT_EQ(getRaw(out, count), wanted) << rows << " x " << columns;
                EXPECT_EQ(getRaw(gpuAmax, 1)[0], amax);
            }
        }
    }
}

TEST_F(Fp8Kernels, Multiplies) {
    expectProduct<BFloat16>(256, 512, 128, false);
    expectProduct<BFloat16>(48, 64, 80, true);
    expectProduct<float>(192, 256, 1024, true);
}

TEST_F(Fp8Kernels, UpdatesScalesAsTheHostDoes) {
    constexpr std::int64_t kCount = 300;
    std::vector<float> memory(static_cast<std::size_t>(Fp8Scales::floats(kCount)));
    const Values random = normals<double>(memory.size(), 4, 10.0);
    for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = static_cast<float>(std::abs(random[i]));
    }
    float* gpu = putRaw(memory);
    optim::StepState state{};
    state.step = 19;
    const Fp8Scales host = Fp8Scales::in(memory.data(), kCount);
    const Fp8Scales there = Fp8Scales::in(gpu, kCount);
    UpdateFp8Scales::host({host.amax, host.scale, host.inverse, host.history, &state, kCount});
    run<UpdateFp8Scales>({there.amax, there.scale, there.inverse, there.history,
        putRaw(std::vector<optim::StepState>{state}), kCount});
    EXPECT_EQ(getRaw(gpu, memory.size()), memory);
}

} // namespace
} // namespace gdt::kernels
