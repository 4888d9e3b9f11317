// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gdt::model {

/// One tensor inside the parameter block. Gradients and optimizer moments have the same offsets in theirs.
struct Parameter {
    std::string name;
    std::uint64_t id = 0; ///< stream of the random numbers it starts from; order of declaration
    std::int64_t offset = 0; ///< elements
    std::int64_t count = 0;
    double mean = 0; ///< of the initial values
    double deviation = 0;
    bool decayed = false; ///< subject to weight decay: matrices are, gains and biases are not
};

/// Places all parameters in one block: first the decayed ones, then the others, so that the optimizer needs
/// two launches whatever the number of tensors. Indices are those of the declaration. One thread.
class ParameterLayout {
public:
    /// Matrix with normal entries; returns its index.
    int addMatrix(std::string name, std::int64_t count, double deviation);
    /// Vector with all entries `value`; returns its index.
    int addVector(std::string name, std::int64_t count, double value);
    /// Fixes the offsets; nothing can be added afterwards.
    void finish();

    [[nodiscard]] const std::vector<Parameter>& parameters() const { return m_parameters; }
    [[nodiscard]] const Parameter& at(int index) const {
        return m_parameters[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] std::int64_t count() const { return m_count; }
    [[nodiscard]] std::int64_t decayedCount() const { return m_decayedCount; }

private:
    int add(Parameter parameter);

    std::vector<Parameter> m_parameters;
    std::int64_t m_count = 0;
    std::int64_t m_decayedCount = 0;
};

/// A parameter and its gradient in device memory.
template <class T> struct Tensor {
    T* value = nullptr;
    kernels::Wide<T>* gradient = nullptr;
};

} // namespace gdt::model
