// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/stream_ids.h"

#include "collector/cupti/client.h"

namespace gd::cupti {

std::uint64_t streamIdOf(void* stream) noexcept {
    CallArguments arguments;
    arguments.namesStream = true;
    arguments.defaultStream = DefaultStream::Legacy;
    arguments.stream = static_cast<CUstream>(stream);
    return Client::instance().objects().stream(arguments);
}

} // namespace gd::cupti
