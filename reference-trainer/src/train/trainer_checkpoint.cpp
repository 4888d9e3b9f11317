// SPDX-License-Identifier: Apache-2.0
// The part of the trainer that saves and resumes.
#include "train/checkpoint.h"
#include "train/trainer.h"

#include <atomic>

namespace gdt::train {

using runtime::CopyKind;
using runtime::Status;

namespace {
std::atomic<bool> g_stopWanted{false};
} // namespace

void requestStop() {
    g_stopWanted.store(true, std::memory_order_relaxed);
}

bool stopRequested() {
    return g_stopWanted.load(std::memory_order_relaxed);
}

// Parameters, moments, step state and the scales of 8-bit tensors; where T is narrow the rounded parameters,
// too, because with ZeRO-1 those of other ranks cannot be made from the own part of the wide ones.
template <class T> struct Trainer<T>::Image {
    struct Buffer {
        void* device;
        std::vector<std::byte> host;
    };
    std::vector<Buffer> buffers;

    explicit Image(const Trainer& trainer) {
        const auto count = static_cast<std::size_t>(trainer.m_stage.layout().count());
        const auto owned = static_cast<std::size_t>(trainer.m_optimizer->ownedCount());
        add(trainer.m_master, count * sizeof(Wide));
        if constexpr (!std::is_same_v<T, Wide>) {
            add(trainer.m_values, count * sizeof(T));
        }
        add(trainer.m_optimizer->firstMoment(), owned * sizeof(Wide));
        add(trainer.m_optimizer->secondMoment(), owned * sizeof(Wide));
        add(trainer.m_state, sizeof(optim::StepState));
        if (const std::int64_t scales = kernels::Fp8Scales::floats(trainer.m_scales.count); scales > 0) {
            add(trainer.m_scales.memory(), static_cast<std::size_t>(scales) * sizeof(float));
        }
    }
    void add(void* device, std::size_t bytes) { buffers.push_back({device, std::vector<std::byte>(bytes)}); }
    [[nodiscard]] std::vector<Checkpoint::Part> parts() {
        std::vector<Checkpoint::Part> list;
        for (Buffer& buffer : buffers) {
            list.push_back({buffer.host.data(), buffer.host.size()});
        }
        return list;
    }
};

template <class T> Status Trainer<T>::resume() {
    GDT_TRY(m_optimizer->ensureState());
    Image image(*this);
    Checkpoint checkpoint(m_config, m_ranks.rank());
    if (!checkpoint.read(m_config.resumeFolder, image.parts(), m_firstStep, m_problem)) {
        return Status::InvalidValue;
    }
    if (m_firstStep >= m_config.steps) {
        m_problem = "checkpoint " + m_config.resumeFolder + " has " + std::to_string(m_firstStep)
            + " steps already: --steps " + std::to_string(m_config.steps) + " leaves nothing to do";
        return Status::InvalidValue;
    }
    for (const auto& buffer : image.buffers) {
        GDT_TRY(m_compute.stream().memcpyAsync(
            buffer.device, buffer.host.data(), buffer.host.size(), CopyKind::HostToDevice));
    }
    m_unread = m_firstStep;
    return m_compute.stream().synchronize();
}

template <class T> Status Trainer<T>::save(std::int64_t step, bool stops) {
    Image image(*this);
    for (auto& buffer : image.buffers) {
        GDT_TRY(m_compute.stream().memcpyAsync(
            buffer.host.data(), buffer.device, buffer.host.size(), CopyKind::DeviceToHost));
    }
    GDT_TRY(m_compute.stream().synchronize());
    Checkpoint checkpoint(m_config, m_ranks.rank());
    const bool written = checkpoint.write(m_config.saveFolder, step, image.parts(), m_problem);
    bool everywhere = m_agreement->everyone(written);
    if (everywhere) {
        const bool placed = m_ranks.rank() != 0 || checkpoint.commit(m_config.saveFolder, step, m_problem);
        everywhere = m_agreement->everyone(placed);
    } else {
        checkpoint.discard(m_config.saveFolder, step);
    }
    if (!everywhere) {
        m_othersProblem = m_problem.empty();
        m_problem = m_othersProblem ? "another rank could not save its part of the checkpoint" : m_problem;
        return Status::InvalidValue;
    }
    m_report.saved(step, stops);
    return Status::Success;
}

// A request to stop is looked for where losses are read, so that steps between need no word from others.
template <class T> Status Trainer<T>::saveWhenDue(std::int64_t step, bool& stop) {
    if (m_config.saveFolder.empty()) {
        return Status::Success;
    }
    const bool last = step == m_config.steps;
    if (!last && step % m_config.logInterval == 0) {
        stop = !m_agreement->everyone(!stopRequested());
    }
    const bool due = m_config.saveInterval > 0 && step % m_config.saveInterval == 0;
    if (!stop && !due && !last) {
        return Status::Success;
    }
    if (m_unread < step) {
        GDT_TRY(m_reader->request(m_compute.stream(), m_unread, step - 1));
        m_unread = step;
    }
    return save(step, stop);
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template Status Trainer<T>::resume();                                                                    \
    template Status Trainer<T>::saveWhenDue(std::int64_t, bool&);
GDT_INSTANTIATE(float)
GDT_INSTANTIATE(double)
GDT_INSTANTIATE(kernels::BFloat16)
GDT_INSTANTIATE(kernels::Float16)
#undef GDT_INSTANTIATE

} // namespace gdt::train
