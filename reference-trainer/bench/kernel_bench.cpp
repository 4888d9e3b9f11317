// SPDX-License-Identifier: Apache-2.0
// Times each kernel of a training step on the GPU and prints its share of a ceiling measured in the same run:
// a large device copy for kernels that move memory, a large bf16 product for those that multiply matrices.
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/fp8.h"
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "kernels/optimizer.h"
#include "kernels/ring_attention.h"
#include "kernels/swiglu.h"
#include "runtime/stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace gdt;
using kernels::BFloat16;
using runtime::Status;
using T = BFloat16;

constexpr int kRounds = 7;

struct Shape {
    std::int64_t hidden = 1600, heads = 25, seqLen = 1024, batch = 16, vocab = 50304;

    [[nodiscard]] std::int64_t rows() const { return seqLen * batch; }
};

class Bench {
public:
    explicit Bench(const Shape& shape);

    void run();

private:
    using Launch = std::function<Status(int round)>;

    // Median time of one launch; several in a row, so that the host's part does not show.
    double seconds(const Launch& launch);
    void memory(const char* name, double bytes, const Launch& launch);
    void compute(const char* name, double operations, const Launch& launch);
    void product(const char* name, std::int64_t m, std::int64_t n, std::int64_t k, bool wide);
    void attention(std::int64_t seqLen, std::int64_t batch, std::int64_t heads, std::int64_t headSize,
        double dropout = 0);
    void ring(std::int64_t seqLen, std::int64_t batch, std::int64_t heads, std::int64_t headSize);
    void eightBits();
    void elementwise();
    void norms();
    void classifier();
    void optimizer();

    template <class V> V* array(std::int64_t count, double deviation = 1.0);

    Shape m_shape;
    runtime::Device m_device;
    runtime::Stream m_stream;
    double m_copyRate = 0; // bytes a second, read plus written
    double m_productRate = 0; // operations a second
    std::vector<void*> m_arrays;
    std::uint64_t m_seed = 1;
};

runtime::DeviceOptions gpu() {
    runtime::DeviceOptions options;
    options.backend = runtime::Backend::Cuda;
    return options;
}

Bench::Bench(const Shape& shape)
    : m_shape(shape)
    , m_device(gpu()) {
    GDT_CHECK(runtime::Stream::create(m_device, m_stream, runtime::StreamFlags::NonBlocking));
}

// Random numbers, never zeros: hardware multiplies zeros faster.
template <class V> V* Bench::array(std::int64_t count, double deviation) {
    void* memory = nullptr;
    GDT_CHECK(m_device.allocate(&memory, static_cast<std::size_t>(count) * sizeof(V)));
    m_arrays.push_back(memory);
    auto* values = static_cast<V*>(memory);
    if constexpr (std::is_integral_v<V>)
        GDT_CHECK(m_device.fill(memory, 0, static_cast<std::size_t>(count) * sizeof(V)));
    else
        GDT_CHECK(
            m_stream.launch<kernels::InitNormal<V>>({}, {values, count, 1, ++m_seed, 0, 0.0, deviation}));
    return values;
}

double Bench::seconds(const Launch& launch) {
    constexpr int kLaunches = 10;
    runtime::Event start, end;
    GDT_CHECK(runtime::Event::create(m_device, start));
    GDT_CHECK(runtime::Event::create(m_device, end));
    GDT_CHECK(launch(0));
    std::vector<double> times;
    for (int round = 0; round < kRounds; ++round) {
        GDT_CHECK(m_stream.record(start));
        for (int i = 0; i < kLaunches; ++i)
            GDT_CHECK(launch(i));
        GDT_CHECK(m_stream.record(end));
        GDT_CHECK(end.synchronize());
        std::int64_t ns = 0;
        GDT_CHECK(runtime::Event::elapsedNs(start, end, &ns));
        times.push_back(static_cast<double>(ns) * 1e-9 / kLaunches);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void Bench::memory(const char* name, double bytes, const Launch& launch) {
    const double time = seconds(launch);
    if (m_copyRate == 0)
        m_copyRate = bytes / time;
    std::printf("%-34s %9.1f us %8.0f GB/s    %5.1f %% of the copy\n", name, time * 1e6, bytes / time * 1e-9,
        100 * bytes / time / m_copyRate);
}

void Bench::compute(const char* name, double operations, const Launch& launch) {
    const double time = seconds(launch);
    if (m_productRate == 0)
        m_productRate = operations / time;
    std::printf("%-34s %9.1f us %8.1f TFLOP/s %5.1f %% of the product\n", name, time * 1e6,
        operations / time * 1e-12, 100 * operations / time / m_productRate);
}

void Bench::product(const char* name, std::int64_t m, std::int64_t n, std::int64_t k, bool wide) {
    const T* a = array<T>(m * k);
    const T* b = array<T>(k * n);
    const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    if (wide) { // the gradient of a weight
        float* c = array<float>(m * n);
        compute(name, operations, [=, this](int) {
            return m_stream.launch<kernels::Gemm<T, float>>(
                {}, {a, b, c, nullptr, m, n, k, m, n, n, 1.0F, 1.0F, true, false});
        });
    } else {
        T* c = array<T>(m * n);
        compute(name, operations, [=, this](int) {
            return m_stream.launch<kernels::Gemm<T>>(
                {}, {a, b, c, nullptr, m, n, k, k, k, n, 1.0F, 0.0F, false, true});
        });
    }
}

void Bench::attention(
    std::int64_t seqLen, std::int64_t batch, std::int64_t heads, std::int64_t headSize, double dropout) {
    const std::int64_t elements = seqLen * batch * heads * headSize;
    const T* qkv = array<T>(3 * elements);
    const T* dout = array<T>(elements);
    T* out = array<T>(elements);
    T* dqkv = array<T>(3 * elements);
    float* sums = array<float>(seqLen * batch * heads);
    float* scratch = array<float>(seqLen * batch * heads);
    // Two products over the visible half of the scores; the backward pass is counted as five, whatever it
    // computes again.
    const double product = static_cast<double>(elements) * static_cast<double>(seqLen);
    const std::string name = "attention s " + std::to_string(seqLen) + " head " + std::to_string(headSize)
        + (dropout > 0 ? " dropout" : "");
    const auto* sample = array<std::int64_t>(1);
    compute((name + " forward").c_str(), 2 * product, [=, this](int) {
        return m_stream.launch<kernels::AttentionForward<T>>(
            {}, {qkv, out, sums, seqLen, batch, heads, headSize, dropout, 1, 1, sample, 0, heads, seqLen});
    });
    compute((name + " backward").c_str(), 5 * product, [=, this](int) {
        return m_stream.launch<kernels::AttentionBackward<T>>({},
            {qkv, out, sums, dout, dqkv, scratch, seqLen, batch, heads, headSize, dropout, 1, 1, sample, 0,
                heads, seqLen});
    });
}

// A step of context parallelism: queries that see all keys of another rank, whose results join others.
void Bench::ring(std::int64_t seqLen, std::int64_t batch, std::int64_t heads, std::int64_t headSize) {
    const std::int64_t elements = seqLen * batch * heads * headSize;
    const std::int64_t hidden = heads * headSize;
    const T* qkv = array<T>(3 * elements);
    const T* kv = array<T>(2 * elements);
    const T* dout = array<T>(elements);
    float* out = array<float>(elements);
    float* dq = array<float>(elements);
    float* dkv = array<float>(2 * elements);
    float* sums = array<float>(seqLen * batch * heads);
    const float* rowSums = array<float>(seqLen * batch * heads);
    const double product = 2.0 * static_cast<double>(elements) * static_cast<double>(seqLen);
    const std::string name = "ring step s " + std::to_string(seqLen) + " head " + std::to_string(headSize);
    compute((name + " forward").c_str(), 2 * product, [=, this](int) {
        return m_stream.launch<kernels::RingAttentionForward<T>>({},
            {qkv, kv, out, sums, seqLen, seqLen, batch, heads, headSize, 3 * hidden, seqLen, false, true});
    });
    compute((name + " backward").c_str(), 5 * product, [=, this](int) {
        return m_stream.launch<kernels::RingAttentionBackward<T>>({},
            {qkv, kv, dout, sums, rowSums, dq, dkv, seqLen, seqLen, batch, heads, headSize, 3 * hidden,
                seqLen, false});
    });
}

void Bench::elementwise() {
    const std::int64_t rows = m_shape.rows();
    const std::int64_t wide = rows * 4 * m_shape.hidden;
    const std::int64_t narrow = rows * m_shape.hidden;
    const T* x = array<T>(wide);
    const T* y = array<T>(wide);
    T* out = array<T>(wide);
    const auto bytes = [](std::int64_t elements) { return static_cast<double>(elements) * sizeof(T); };
    memory("gelu forward", bytes(2 * wide), [=, this](int) {
        return m_stream.launch<kernels::GeluForward<T>>({}, {x, out, wide});
    });
    memory("gelu backward", bytes(3 * wide), [=, this](int) {
        return m_stream.launch<kernels::GeluBackward<T>>({}, {x, y, out, wide});
    });
    memory("swiglu forward", bytes(wide + wide / 2), [=, this](int) {
        return m_stream.launch<kernels::SwigluForward<T>>({}, {x, out, rows, 2 * m_shape.hidden});
    });
    memory("swiglu backward", bytes(2 * wide + wide / 2), [=, this](int) {
        return m_stream.launch<kernels::SwigluBackward<T>>({}, {x, y, out, rows, 2 * m_shape.hidden});
    });
    memory("residual add", bytes(3 * narrow), [=, this](int) {
        return m_stream.launch<kernels::ResidualAdd<T>>({}, {x, y, out, narrow});
    });
    float* sums = array<float>(4 * m_shape.hidden);
    memory("bias backward, 4 hidden", bytes(wide), [=, this](int) {
        return m_stream.launch<kernels::BiasBackward<T>>({}, {x, sums, rows, 4 * m_shape.hidden});
    });
    memory("rotary", bytes(4 * narrow), [=, this](int) {
        return m_stream.launch<kernels::Rotary<T>>({},
            {out, m_shape.seqLen, m_shape.batch, m_shape.heads, m_shape.hidden / m_shape.heads, 1e4, 1.0});
    });
}

// What fc1 does with --dtype fp8.
void Bench::eightBits() {
    const std::int64_t rows = m_shape.rows();
    const std::int64_t in = m_shape.hidden;
    const std::int64_t out = 4 * in;
    const T* x = array<T>(rows * in);
    const T* w = array<T>(out * in);
    T* y = array<T>(rows * out);
    auto* left = array<std::uint8_t>(rows * in);
    auto* right = array<std::uint8_t>(out * in);
    float* numbers = array<float>(2);
    const auto* inverse = reinterpret_cast<const kernels::Fp8Inverse*>(array<float>(4));
    for (const bool transposed : {false, true}) {
        memory(transposed ? "to 8 bits, transposed" : "to 8 bits", 3.0 * static_cast<double>(rows * in),
            [=, this](int) {
                return m_stream.launch<kernels::QuantizeFp8<T>>(
                    {}, {x, left, numbers, numbers + 1, rows, in, false, transposed});
            });
    }
    GDT_CHECK(m_stream.launch<kernels::QuantizeFp8<T>>(
        {}, {w, right, numbers, numbers + 1, out, in, false, false}));
    compute("fc1, 8-bit factors", 2.0 * static_cast<double>(rows * in) * static_cast<double>(out),
        [=, this](int) {
            return m_stream.launch<kernels::GemmFp8<T>>(
                {}, {left, right, y, nullptr, inverse, inverse, rows, out, in, 0.0F, false});
        });
}

void Bench::norms() {
    const std::int64_t rows = m_shape.rows();
    const std::int64_t hidden = m_shape.hidden;
    const double bytes = static_cast<double>(rows * hidden) * sizeof(T);
    const T* x = array<T>(rows * hidden);
    const T* dout = array<T>(rows * hidden);
    const T* gain = array<T>(hidden);
    T* out = array<T>(rows * hidden);
    float* mean = array<float>(rows);
    float* rstd = array<float>(rows);
    float* sums = array<float>(2 * hidden);
    memory("layer norm forward", 2 * bytes, [=, this](int) {
        return m_stream.launch<kernels::LayerNormForward<T>>(
            {}, {x, gain, gain, out, mean, rstd, rows, hidden, 1e-5F});
    });
    memory("layer norm backward", 4 * bytes, [=, this](int) {
        return m_stream.launch<kernels::LayerNormBackward<T>>(
            {}, {x, gain, mean, rstd, dout, out, sums, sums + hidden, rows, hidden});
    });
    const auto* tokens = array<std::int32_t>(rows);
    memory("embedding forward", 2 * bytes, [=, this](int) {
        return m_stream.launch<kernels::EmbeddingForward<T>>({}, {tokens, x, out, rows, hidden});
    });
}

void Bench::classifier() {
    const std::int64_t rows = m_shape.rows();
    T* logits = array<T>(rows * m_shape.vocab);
    const auto* targets = array<std::int32_t>(rows);
    float* losses = array<float>(rows);
    void* memoryOfState = nullptr;
    GDT_CHECK(m_device.allocate(&memoryOfState, sizeof(optim::StepState)));
    GDT_CHECK(m_device.fill(memoryOfState, 0, sizeof(optim::StepState)));
    const auto* state = static_cast<const optim::StepState*>(memoryOfState);
    // Each row must be read before its gradient can be written: twice read, once written.
    memory(
        "softmax cross entropy", 3.0 * static_cast<double>(rows * m_shape.vocab) * sizeof(T), [=, this](int) {
            return m_stream.launch<kernels::SoftmaxCrossEntropy<T>>(
                {}, {logits, targets, losses, state, rows, m_shape.vocab, 1.0});
        });
}

void Bench::optimizer() {
    constexpr std::int64_t kCount = std::int64_t{1} << 28;
    float* master = array<float>(kCount);
    const float* gradients = array<float>(kCount);
    float* first = array<float>(kCount);
    float* second = array<float>(kCount);
    T* rounded = array<T>(kCount);
    void* memoryOfState = nullptr;
    GDT_CHECK(m_device.allocate(&memoryOfState, sizeof(optim::StepState)));
    optim::StepState state{};
    state.updates = 1;
    state.beta1Power = state.beta2Power = 0.5;
    state.lossScale = state.clipCoefficient = 1;
    state.learningRate = 1e-6;
    GDT_CHECK(m_device.copy(memoryOfState, &state, sizeof(state), runtime::CopyKind::HostToDevice));
    auto* onDevice = static_cast<optim::StepState*>(memoryOfState);
    memory("adamw", 30.0 * static_cast<double>(kCount), [=, this](int) {
        return m_stream.launch<kernels::AdamW<T>>(
            {}, {master, gradients, first, second, rounded, onDevice, kCount, 0.9, 0.95, 1e-8, 0.1});
    });
    memory("sum of squares", 4.0 * static_cast<double>(kCount), [=, this](int) {
        return m_stream.launch<kernels::SumOfSquares<float>>({}, {gradients, onDevice, kCount});
    });
}

void Bench::run() {
    const std::size_t copied = std::size_t{1} << 31;
    const float* from = array<float>(copied / sizeof(float));
    float* to = array<float>(copied / sizeof(float));
    memory("copy, 2 GiB", 2.0 * static_cast<double>(copied),
        [=, this](int) { return m_stream.memcpyAsync(to, from, copied, runtime::CopyKind::DeviceToDevice); });
    product("product 8192^3", 8192, 8192, 8192, false);
    elementwise();
    norms();
    classifier();
    optimizer();
    const std::int64_t rows = m_shape.rows();
    const std::int64_t h = m_shape.hidden;
    product("qkv", rows, 3 * h, h, false);
    product("fc1", rows, 4 * h, h, false);
    product("fc2", rows, h, 4 * h, false);
    product("fc1, gradient of the weight", 4 * h, h, rows, true);
    product("head", rows, m_shape.vocab, h, false);
    attention(m_shape.seqLen, m_shape.batch, m_shape.heads, h / m_shape.heads);
    attention(4096, 4, 16, 64);
    attention(4096, 4, 16, 128);
    attention(4096, 4, 16, 64, 0.1);
    attention(4096, 4, 16, 128, 0.1);
    ring(4096, 4, 16, 64);
    ring(4096, 4, 16, 128);
    eightBits();
    GDT_CHECK(m_stream.synchronize());
    for (void* memory : m_arrays)
        GDT_CHECK(m_device.release(memory));
}

int usage() {
    std::fprintf(stderr,
        "usage: kernel_bench [--hidden N] [--heads N] [--seq-len N] [--batch N] [--vocab N]\n"
        "Exit status 77: no GPU can be used.\n");
    return 2;
}

} // namespace

int main(int argc, char** argv) {
    Shape shape;
    for (int i = 1; i < argc; i += 2) {
        const std::pair<const char*, std::int64_t*> options[]
            = {{"--hidden", &shape.hidden}, {"--heads", &shape.heads}, {"--seq-len", &shape.seqLen},
                {"--batch", &shape.batch}, {"--vocab", &shape.vocab}};
        std::int64_t* target = nullptr;
        for (const auto& [name, value] : options)
            target = std::strcmp(argv[i], name) == 0 ? value : target;
        if (target == nullptr || i + 1 == argc || (*target = std::atoll(argv[i + 1])) < 1)
            return usage();
    }
    if (shape.hidden % shape.heads != 0)
        return usage();
    if (const std::string problem = runtime::backendProblem(runtime::Backend::Cuda); !problem.empty()) {
        std::fprintf(stderr, "kernel_bench: %s\n", problem.c_str());
        return 77;
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0); // a row at once, whatever the next one does
    Bench(shape).run();
    return 0;
}
