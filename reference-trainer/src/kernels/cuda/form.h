// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gdt::kernels::cuda {

/// Which of several forms of a kernel is launched, while it is measured which one is the fastest. Begins with
/// the number in GDT_KERNEL_FORM, or 0.
///   norms: 0 as before, 1 streamed, 2 streamed and read rows leave the cache first, 3 as 2 but backward with
///   one pack a lane. Transposed 8-bit copies: 0 as before, 1 blocks that stay, 2 the same with twice the
///   rows, 3 as 0 but the largest magnitude so far is read at the start.
extern int kernelForm;

} // namespace gdt::kernels::cuda
