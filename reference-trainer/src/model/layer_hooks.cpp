// SPDX-License-Identifier: Apache-2.0
#include "model/layer_hooks.h"

namespace gdt::model {

using runtime::Status;

Status LayerHooks::inForward(std::int64_t, runtime::Stream&) {
    return Status::Success;
}

Status LayerHooks::inBackward(std::int64_t, runtime::Stream&) {
    return Status::Success;
}

double LayerHooks::normEpsilon(std::int64_t, double configured) {
    return configured;
}

DropoutSource LayerHooks::dropoutSource(std::int64_t, const DropoutSource& configured) {
    return configured;
}

Status LayerHooks::scoresMemory(std::int64_t, std::size_t, void** memory) {
    *memory = nullptr;
    return Status::Success;
}

bool LayerHooks::shortAttention(std::int64_t, std::int64_t) {
    return false;
}

Status LayerHooks::betweenReplays(std::int64_t, runtime::Stream&) {
    return Status::Success;
}

} // namespace gdt::model
