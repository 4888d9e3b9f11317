// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/cupti/off_intervals.h"

#include <cupti.h>

#include <atomic>
#include <cstdint>

namespace gd::cupti {

/// What is needed to read records beside the records.
struct RecordContext {
    /// The sink's id of a stream, given CUPTI's numbers.
    std::uint64_t (*stream)(std::uint32_t cuptiContext, std::uint32_t cuptiStream) noexcept;
    OffIntervals kernelsOff; ///< kernels, copies and fills that touch one are left out
    OffIntervals graphsOff; ///< replays likewise
};

/// Layouts of activity records differ between CUPTI versions: kernels, copies and synchronisations grew
/// in 13.0.
enum class RecordLayout : std::uint8_t {
    Unknown, ///< newer than this library: records cannot be read
    Cuda12, ///< CUpti_ActivityKernel9, Memcpy5
    Cuda13, ///< CUpti_ActivityKernel10, Memcpy6
};

/// The layout of records of a libcupti, by cuptiGetVersion(): 13.x counts in major * 10000 + minor * 100
/// (130000…), 12.x in small numbers (18 for 12.0 … 28 for 12.9).
RecordLayout layoutOf(std::uint32_t cuptiVersion) noexcept;

/// What reportRecord() saw that the sink is not told.
struct RecordCounts {
    std::uint64_t untimed = 0; ///< CUPTI could not read the times: such a record is left out
    std::uint64_t nodes = 0; ///< kernels, copies and fills of replays
    std::uint64_t eagerKernels = 0;
};

/// CUPTI 13.0 keeps 32 bytes of the host's memory for each eager kernel until the process ends, with a
/// subscriber alone as well (measured: tests/e2e/probes/graph_records, kind=eager, none and bare). Here those
/// are counted that have records. Threads: any.
class EagerKernelMemory {
public:
    static constexpr std::uint64_t kKernels = std::uint64_t{1} << 25; ///< 1 GiB

    /// So many more. True for the one call with which there are kKernels.
    bool add(std::uint64_t kernels) noexcept {
        const std::uint64_t before = m_kernels.fetch_add(kernels, std::memory_order_relaxed);
        return before < kKernels && before + kernels >= kKernels;
    }

private:
    std::atomic<std::uint64_t> m_kernels{0};
};

/// Hands one record to the sink. Kinds that are not followed are passed over.
void reportRecord(const CUpti_Activity& record, RecordLayout layout, const RecordContext& context,
    RecordCounts& counts) noexcept;

} // namespace gd::cupti
