// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gdt::faults {

/// Names the ids whose call sites are to be printed; several times, each adds one. Before other threads
/// start.
void watchSite(const char* id);

/// Prints, once for each pair of `id` (when watched) and call,
///   fault ID: module=PATH offset=0xOFFSET call=CALL
/// to stderr. PATH is the loaded object that contains the caller, OFFSET lies inside the call instruction
/// (its return address minus one) relative to the object's load base: `addr2line -e PATH OFFSET` gives the
/// source line, whichever tool looks at it. Use it through GDT_FAULT_SITE, never from a function that may be
/// inlined into the runtime.
[[gnu::noinline]] void noteSite(const char* id, const char* call);

} // namespace gdt::faults

/// Evaluates to the call that follows `name` and prints the place when the fault `id` is armed. One
/// statement, so that the printed line is the line of the call.
#define GDT_FAULT_SITE(id, name, ...) (::gdt::faults::noteSite(id, name), __VA_ARGS__)
