// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"
#include "kernels/small_format.h"
#include "runtime/stream.h"

#include "test_values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace gdt::test {

using kernels::BFloat16;
using kernels::Float16;
using kernels::Wide;

inline double toDouble(double v) {
    return v;
}
inline double toDouble(float v) {
    return static_cast<double>(v);
}
inline double toDouble(BFloat16 v) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v.bits) << 16U));
}
inline double toDouble(Float16 v) {
    return static_cast<double>(kernels::decode(v.bits, kernels::kBinary16));
}
inline double toDouble(std::int32_t v) {
    return v;
}

/// To nearest, ties to even.
template <class T> T fromDouble(double v) {
    if constexpr (std::is_same_v<T, BFloat16>) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(v));
        return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
    } else if constexpr (std::is_same_v<T, Float16>) {
        return {
            static_cast<std::uint16_t>(kernels::encode(static_cast<float>(v), kernels::kBinary16, false))};
    } else {
        return static_cast<T>(v);
    }
}

/// What the device gets, as numbers the reference can compute with.
template <class T> std::vector<double> rounded(std::vector<double> values) {
    for (double& v : values)
        v = toDouble(fromDouble<T>(v));
    return values;
}

/// Largest ||a - b|| / ||b|| that is right for T; the sums of a kernel are in Wide<T>.
template <class T> constexpr double tolerance() {
    return std::is_same_v<T, double> ? 1e-12
        : std::is_same_v<T, float>   ? 2e-6
        : std::is_same_v<T, Float16> ? 1e-3
                                     : 5e-3;
}

inline void expectClose(const std::vector<double>& got, const std::vector<double>& wanted, double limit,
    const std::string& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(std::isfinite(got[i])) << what << "[" << i << "] was not written or is not finite";
        difference += (got[i] - wanted[i]) * (got[i] - wanted[i]);
        size += wanted[i] * wanted[i];
    }
    EXPECT_LE(std::sqrt(difference), limit * std::sqrt(size)) << what;
}

/// A GPU with a stream and arrays; skips the test when there is none.
class Gpu : public ::testing::Test {
protected:
    void SetUp() override {
        const std::string problem = runtime::backendProblem(runtime::Backend::Cuda);
        if (!problem.empty())
            GTEST_SKIP() << problem;
        runtime::DeviceOptions options;
        options.backend = runtime::Backend::Cuda;
        device = std::make_unique<runtime::Device>(options);
        GDT_CHECK(runtime::Stream::create(*device, stream, runtime::StreamFlags::NonBlocking));
    }
    void TearDown() override {
        if (device == nullptr)
            return;
        GDT_CHECK(stream.synchronize());
        for (void* block : blocks)
            GDT_CHECK(device->release(block));
        stream = runtime::Stream();
    }

    template <class V> V* put(const std::vector<double>& values) {
        std::vector<V> typed;
        for (const double v : values)
            typed.push_back(fromDouble<V>(v));
        return putRaw(typed);
    }
    template <class V> V* putRaw(const std::vector<V>& values) {
        void* memory = nullptr;
        const std::size_t bytes = values.size() * sizeof(V);
        GDT_CHECK(device->allocate(&memory, bytes));
        GDT_CHECK(device->copy(memory, values.data(), bytes, runtime::CopyKind::HostToDevice));
        blocks.push_back(memory);
        return static_cast<V*>(memory);
    }
    /// Not a number everywhere, so that an element that is not written shows.
    template <class V> V* poison(std::size_t count) {
        return put<V>(std::vector<double>(count, std::numeric_limits<double>::quiet_NaN()));
    }
    template <class V> std::vector<V> getRaw(const V* pointer, std::size_t count) {
        std::vector<V> values(count);
        GDT_CHECK(stream.synchronize());
        GDT_CHECK(device->copy(values.data(), pointer, count * sizeof(V), runtime::CopyKind::DeviceToHost));
        return values;
    }
    template <class V> std::vector<double> get(const V* pointer, std::size_t count) {
        std::vector<double> result;
        for (const V v : getRaw(pointer, count))
            result.push_back(toDouble(v));
        return result;
    }
    template <class K> void run(const typename K::Args& args) {
        GDT_CHECK(stream.launch<K>({}, args));
        GDT_CHECK(stream.synchronize());
    }

    std::unique_ptr<runtime::Device> device;
    runtime::Stream stream;
    std::vector<void*> blocks;
};

template <class T> class TypedGpu : public Gpu { };
using DeviceTypes = ::testing::Types<float, double, BFloat16, Float16>;

} // namespace gdt::test
