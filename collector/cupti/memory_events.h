// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/cupti/client.h"

namespace gd::cupti {

/// What driver calls do to memory, told to the sink: allocations, frees, mappings, pools. Frees are told when
/// they begin, because from then on the address may be handed to another thread; while a capture is open,
/// which may refuse them, when they have succeeded. Returns what ThreadCalls::Open::freeReported is to be.
bool memoryCallBegan(Client& client, const CallArguments& arguments, const gd_rt_api& call) noexcept;
/// The same call came back; `call` holds the results; `context` is the id of the current context, 0 = none.
void memoryCallSucceeded(Client& client, const CallArguments& arguments, const gd_rt_api& call,
    std::uint64_t context, bool freeReported) noexcept;
/// A memory allocation node was added to a graph by a call other than a captured allocation.
void allocationNodeAdded(const gd_rt_api& call, CUgraphNode node) noexcept;

} // namespace gd::cupti
