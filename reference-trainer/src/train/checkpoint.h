// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/run_config.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace gdt::train {

/// Checkpoints of a run: a folder `step-N` with one file a rank, and a file `latest` that names the newest.
/// Files are written under another name, forced to the disk and renamed when all ranks have written theirs,
/// so that a full disk or a kill leaves the last good checkpoint as it was. Resuming from one continues bit
/// for bit, given the same options.
class Checkpoint {
public:
    /// What a file must have in common with the run that reads it, and where the run stood.
    struct Header {
        std::uint64_t magic = 0;
        std::uint32_t version = 0;
        std::uint32_t reserved = 0;
        std::int64_t type = 0;
        std::int64_t tensor = 0, context = 0, data = 0, pipeline = 0;
        std::int64_t sequenceParallel = 0, virtualStages = 0, distributedOptimizer = 0;
        std::int64_t layers = 0, hidden = 0, heads = 0, vocab = 0, tiedHead = 0, norm = 0;
        std::int64_t activation = 0, mlpHidden = 0;
        std::int64_t microBatch = 0, microBatches = 0, seqLen = 0;
        std::uint64_t seed = 0;
        std::int64_t rank = 0;
        std::int64_t step = 0; ///< steps finished
    };
    /// A part of the file, in order.
    struct Part {
        void* data = nullptr;
        std::size_t bytes = 0;
    };

    Checkpoint(const RunConfig& config, int rank);

    /// Writes this rank's file below `folder`, not yet under its final name. False with one sentence.
    [[nodiscard]] bool write(
        const std::string& folder, std::int64_t step, const std::vector<Part>& parts, std::string& problem);
    /// Rank 0, when all ranks have written: makes the checkpoint the latest one.
    [[nodiscard]] bool commit(const std::string& folder, std::int64_t step, std::string& problem);
    /// Any rank, when one could not write: removes what was written for `step`.
    void discard(const std::string& folder, std::int64_t step);

    /// Whether this rank's file can be read, but for damage behind its header. False with one sentence.
    [[nodiscard]] bool check(const std::string& folder, std::string& problem) const;
    /// Reads this rank's file of the latest checkpoint in `folder`, or of `folder` itself when it is one.
    /// Fills `parts`, whose sizes must be those in the file, and `step`. False with one sentence that names
    /// the file and what does not fit.
    [[nodiscard]] bool read(const std::string& folder, const std::vector<Part>& parts, std::int64_t& step,
        std::string& problem) const;

private:
    struct FileCloser {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    using File = std::unique_ptr<std::FILE, FileCloser>;

    /// The file behind its header, null with one sentence.
    [[nodiscard]] File open(
        const std::string& folder, Header& header, std::string& path, std::string& problem) const;
    [[nodiscard]] std::string mismatch(const Header& other) const;

    Header m_header;
};

} // namespace gdt::train
