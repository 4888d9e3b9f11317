// SPDX-License-Identifier: Apache-2.0
#include "model/parameter.h"

#include <utility>

namespace gdt::model {

int ParameterLayout::add(Parameter parameter) {
    parameter.count = parameter.shard.count();
    m_parameters.push_back(std::move(parameter));
    return static_cast<int>(m_parameters.size()) - 1;
}

int ParameterLayout::addMatrix(std::string name, std::uint64_t id, const Shard& shard, double deviation) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.id = id;
    parameter.shard = shard;
    parameter.deviation = deviation;
    parameter.decayed = true;
    return add(std::move(parameter));
}

int ParameterLayout::addVector(
    std::string name, std::uint64_t id, const Shard& shard, double value, bool replicated) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.id = id;
    parameter.shard = shard;
    parameter.mean = value;
    parameter.replicated = replicated;
    return add(std::move(parameter));
}

int ParameterLayout::addCopy(std::string name, std::uint64_t id, const Shard& shard, double deviation) {
    const int index = addMatrix(std::move(name), id, shard, deviation);
    m_parameters.back().secondary = true;
    return index;
}

void ParameterLayout::finish(std::int64_t multiple) {
    std::int64_t offset = 0;
    const auto place = [&](bool decayed, bool replicated, bool secondary) {
        const std::int64_t first = offset;
        for (Parameter& parameter : m_parameters) {
            if (parameter.decayed == decayed && parameter.replicated == replicated
                && parameter.secondary == secondary) {
                parameter.offset = offset;
                offset += parameter.count;
            }
        }
        return offset - first;
    };
    m_secondaryCount = place(true, false, true);
    place(true, false, false);
    m_decayedCount = offset;
    m_replicatedCount = place(false, true, false);
    place(false, false, false);
    m_usedCount = offset;
    m_count = (offset + multiple - 1) / multiple * multiple;
}

} // namespace gdt::model
