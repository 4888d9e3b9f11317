// SPDX-License-Identifier: Apache-2.0
#include "train/pass_runner.h"

namespace gdt::train {

using graphs::Scope;
using model::Step;
using model::StepKind;
using runtime::Status;

namespace {

bool isComm(const Step& step) {
    return step.kind == StepKind::TensorComm || step.kind == StepKind::RingComm;
}

// Whether a step may be part of a graph at all.
bool inGraph(const Step& step, Scope scope, bool breaksAtComm) {
    if (breaksAtComm && isComm(step)) {
        return false;
    }
    switch (scope) {
    case Scope::Segment:
        return step.kind != StepKind::TensorComm;
    case Scope::Hop:
        return step.kind == StepKind::RingComm || step.kind == StepKind::RingCompute;
    default:
        return true;
    }
}

// Whether two neighbours that may both be in a graph, or both may not, belong together.
bool together(const Step& a, const Step& b, Scope scope, bool graph) {
    if (scope == Scope::Layer) {
        return a.layer == b.layer;
    }
    return scope != Scope::Hop || !graph || (a.layer == b.layer && a.hop == b.hop);
}

class UnitRegion final : public graphs::Region {
public:
    UnitRegion(const model::StepList& steps, const Unit& unit, const model::Pass& pass, int slot)
        : m_steps(steps)
        , m_unit(unit)
        , m_pass(pass)
        , m_slot(slot) { }

    Status issue(runtime::Stream& stream) override {
        const model::Pass pass{
            stream, m_pass.hooks, m_pass.shape, m_pass.parallel, m_pass.seqLen, m_pass.weight};
        for (std::size_t i = 0; i < m_unit.count; ++i) {
            GDT_TRY(m_steps[m_unit.first + i].issue(pass, m_slot));
        }
        return Status::Success;
    }
    [[nodiscard]] std::uint64_t guard() const override { return static_cast<std::uint64_t>(m_pass.seqLen); }

private:
    const model::StepList& m_steps;
    const Unit& m_unit;
    const model::Pass& m_pass;
    int m_slot;
};

} // namespace

std::vector<Unit> cutPass(const model::StepList& steps, Scope scope, bool breaksAtComm) {
    std::vector<Unit> units;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool graph = inGraph(steps[i], scope, breaksAtComm);
        const bool goesOn
            = i > 0 && units.back().graph == graph && together(steps[i - 1], steps[i], scope, graph);
        if (goesOn) {
            ++units.back().count;
        } else {
            units.push_back({i, 1, graph});
        }
    }
    return units;
}

Status PassRunner::run(const model::StepList& steps, const Place& place, const model::Pass& pass) {
    if (!captures()) {
        for (const Step& step : steps) {
            GDT_TRY(step.issue(pass, place.slot));
        }
        return Status::Success;
    }
    graphs::GraphKey key = m_options.key;
    key.scope = m_options.scope;
    key.seqLen = m_options.keepsShapeApart ? 0 : pass.seqLen;
    key.chunk = place.chunk;
    key.backward = place.backward;
    key.slot = m_options.sharesSlots ? 0 : m_options.keyByMicroBatch ? place.microBatch : place.slot;
    key.unit = 0;
    for (const Unit& unit : cutPass(steps, m_options.scope, m_options.breaksAtComm)) {
        UnitRegion region(steps, unit, pass, place.slot);
        GDT_TRY(unit.graph ? m_options.manager->run(key, region, *m_options.slot)
                           : region.issue(m_options.slot->stream()));
        ++key.unit;
    }
    return Status::Success;
}

} // namespace gdt::train
