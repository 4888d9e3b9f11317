// SPDX-License-Identifier: Apache-2.0
#include "faults/fault.h"

#include <utility>

namespace gdt::faults {

Fault::Fault(FaultSpec spec, FaultEnvironment& environment)
    : m_spec(std::move(spec))
    , m_environment(environment) { }

bool Fault::here() const {
    return !m_spec.rank || *m_spec.rank == m_environment.rank;
}

bool Fault::inLayer(std::int64_t layer) const {
    return here() && layer == m_spec.layer.value_or(m_environment.firstLayer);
}

bool Fault::started(std::int64_t otherwise) const {
    return m_step >= m_spec.step.value_or(otherwise);
}

std::optional<std::int64_t> Fault::captureAtStep(graphs::Scope scope) const {
    // On every rank, whatever @rank says: a captured collective must be captured everywhere in the same step.
    const bool cycle = scope != graphs::Scope::Optimizer;
    return cycle ? m_spec.step : std::nullopt;
}

} // namespace gdt::faults
