// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/unique_handle.h"

#include <unistd.h>

namespace gd::base {

inline void closeFd(int fd) {
    ::close(fd);
}

// An open file.
using Fd = UniqueHandle<int, closeFd, -1>;

} // namespace gd::base
