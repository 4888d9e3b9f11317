// SPDX-License-Identifier: Apache-2.0
#include "model/config.h"

namespace gdt::model {

std::string ModelConfig::problem() const {
    if (layers < 1 || hidden < 1 || heads < 1 || seqLen < 2 || vocab < 2) {
        return "--layers, --hidden and --heads must be at least 1, --seq-len and --vocab at least 2";
    }
    if (hidden % heads != 0) {
        return "--hidden " + std::to_string(hidden) + " is not a multiple of --heads "
            + std::to_string(heads);
    }
    if (headSize() % 2 != 0) {
        return "--hidden / --heads is " + std::to_string(headSize())
            + ", but rotary position embedding turns pairs and needs an even number";
    }
    if (mlpWidth < 0) {
        return "--mlp-hidden must not be negative";
    }
    return {};
}

} // namespace gdt::model
