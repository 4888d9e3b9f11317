// SPDX-License-Identifier: Apache-2.0
// A client ends by itself (SIGALRM), whoever started it: a GPU that one holds is lost for all that come
// after.
#pragma once

#include <unistd.h>

constexpr unsigned kClientSeconds = 180; // the longest takes 60

// Not inherited by a child that is forked: it calls alarm() again.
inline const unsigned clientWatchdog = alarm(kClientSeconds);
