// SPDX-License-Identifier: Apache-2.0
#include "cli/self_check/part.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace gd::self_check {

Outcome runNvtx() {
#if __has_include(<nvtx3/nvToolsExt.h>)
    for (int i = 0; i < kCalls; ++i) {
        nvtxRangePushA("self-check");
        nvtxRangePop();
    }
    return ran("ranges through NVTX 3");
#else
    return absent("this build was made without the NVTX headers", "build with the CUDA toolkit's headers");
#endif
}

} // namespace gd::self_check
