// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/gpt_stage.h"
#include "test_values.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gdt::test {

/// A stage with its memory on a device that runs work in the calling thread, and one micro-batch of random
/// tokens. Device memory of the host backend may be read and written directly while nothing is queued.
template <class T> struct StageHarness {
    StageHarness(const model::ModelConfig& config, std::int64_t batch)
        : shape{config.seqLen, batch}
        , stage(config, batch)
        , tokens(test::tokens(
              static_cast<std::size_t>(shape.rows()), static_cast<std::int32_t>(config.vocab), 21))
        , targets(test::tokens(
              static_cast<std::size_t>(shape.rows()), static_cast<std::int32_t>(config.vocab), 22)) {
        GDT_CHECK(runtime::Stream::create(device, stream, runtime::StreamFlags::NonBlocking));
        values = allocate(stage.layout().count());
        gradients = allocate(stage.layout().count());
        void* memory = nullptr;
        GDT_CHECK(device.allocate(&memory, sizeof(optim::StepState)));
        state = new (memory) optim::StepState{};
        state->lossScale = 1.0;
        GDT_CHECK(runtime::GraphPool::create(device, stage.buffers().bytes(), pool));
        GDT_CHECK(stage.buffers().assign(pool));
        stage.bind(values, gradients, state);
        GDT_CHECK(stage.initialise(stream, 3, values));
        GDT_CHECK(stream.synchronize());
    }

    T* allocate(std::int64_t count) {
        void* memory = nullptr;
        GDT_CHECK(device.allocate(&memory, static_cast<std::size_t>(count) * sizeof(T)));
        return static_cast<T*>(memory);
    }

    [[nodiscard]] model::Pass pass() {
        return {
            stream, hooks, shape, parallel::alone(), shape.seqLen, 1.0 / static_cast<double>(shape.rows())};
    }

    double loss() {
        const auto& slot = stage.slot(0, 0);
        std::copy(tokens.begin(), tokens.end(), slot.tokens);
        std::copy(targets.begin(), targets.end(), slot.targets);
        *slot.firstSample = 5;
        state->loss = 0;
        GDT_CHECK(model::issueAll(stage.forwardSteps(0), pass(), 0));
        GDT_CHECK(stream.synchronize());
        return state->loss;
    }

    void computeGradients() {
        std::fill(gradients, gradients + stage.layout().count(), T(0));
        loss();
        GDT_CHECK(model::issueAll(stage.backwardSteps(0), pass(), 0));
        GDT_CHECK(stream.synchronize());
    }

    static runtime::DeviceOptions singleThread() {
        runtime::DeviceOptions options;
        options.hostWorkers = 0;
        return options;
    }

    runtime::Device device{singleThread()};
    runtime::Stream stream;
    model::LayerHooks hooks;
    model::BatchShape shape;
    model::GptStage<T> stage;
    std::vector<std::int32_t> tokens, targets;
    runtime::GraphPool pool;
    T* values = nullptr;
    T* gradients = nullptr;
    optim::StepState* state = nullptr;
};

inline model::ModelConfig tinyModel() {
    model::ModelConfig config;
    config.layers = 2;
    config.hidden = 12;
    config.heads = 2;
    config.seqLen = 5;
    config.vocab = 7;
    return config;
}

} // namespace gdt::test
