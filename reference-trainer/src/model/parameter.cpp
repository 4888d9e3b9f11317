// SPDX-License-Identifier: Apache-2.0
#include "model/parameter.h"

#include <utility>

namespace gdt::model {

int ParameterLayout::add(Parameter parameter) {
    parameter.id = m_parameters.size();
    m_parameters.push_back(std::move(parameter));
    return static_cast<int>(m_parameters.size()) - 1;
}

int ParameterLayout::addMatrix(std::string name, std::int64_t count, double deviation) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.count = count;
    parameter.deviation = deviation;
    parameter.decayed = true;
    return add(std::move(parameter));
}

int ParameterLayout::addVector(std::string name, std::int64_t count, double value) {
    Parameter parameter;
    parameter.name = std::move(name);
    parameter.count = count;
    parameter.mean = value;
    return add(std::move(parameter));
}

void ParameterLayout::finish() {
    std::int64_t offset = 0;
    for (const bool decayed : {true, false}) {
        for (Parameter& parameter : m_parameters) {
            if (parameter.decayed == decayed) {
                parameter.offset = offset;
                offset += parameter.count;
            }
        }
        if (decayed) {
            m_decayedCount = offset;
        }
    }
    m_count = offset;
}

} // namespace gdt::model
