// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of the model's options against the host kernels in double on the same, already rounded,
// inputs.
#include "kernels/attention.h"
#include "kernels/ring_attention.h"
#include "kernels/swiglu.h"

#include "cuda_harness.h"

namespace gdt::kernels {
namespace {

using test::expectClose;
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
    for (const auto& [seq, batch, heads, size] :
        {std::tuple{5L, 2L, 3L, 4L}, {65L, 2L, 2L, 40L}, {200L, 1L, 2L, 64L}, {193L, 2L, 1L, 128L}}) {
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

} // namespace
} // namespace gdt::kernels
