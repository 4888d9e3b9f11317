// SPDX-License-Identifier: Apache-2.0
#include "model/layer_hooks.h"

namespace gdt::model {

runtime::Status LayerHooks::inForward(std::int64_t, runtime::Stream&) {
    return runtime::Status::Success;
}

runtime::Status LayerHooks::betweenReplays(std::int64_t, runtime::Stream&) {
    return runtime::Status::Success;
}

} // namespace gdt::model
