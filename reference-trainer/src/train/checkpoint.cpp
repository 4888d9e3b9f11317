// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace gdt::train {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMagic = 0x74706b6364677464; // "dtgdckpt"
constexpr std::uint32_t kVersion = 2;

struct TextCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using TextFile = std::unique_ptr<std::FILE, TextCloser>;

std::uint64_t mix(std::uint64_t hash, const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) {
        hash = (hash ^ at[i]) * 0x100000001b3U;
    }
    return hash;
}

std::string stepName(std::int64_t step) {
    return "step-" + std::to_string(step);
}

std::string partialName(const std::string& folder, std::int64_t step) {
    return folder + "/" + stepName(step) + ".partial";
}

// Where an older checkpoint of the same step waits on file systems that cannot exchange two folders.
std::string setAsideName(const std::string& folder, std::int64_t step) {
    return folder + "/" + stepName(step) + ".old";
}

// False when there is nothing to exchange with, or the file system cannot.
bool exchange(const std::string& a, const std::string& b) {
    return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

std::string rankFile(const std::string& folder, std::int64_t rank) {
    return folder + "/rank-" + std::to_string(rank) + ".ckpt";
}

// Forces a file or folder to the disk.
bool flush(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool flushed = descriptor >= 0 && ::fsync(descriptor) == 0;
    if (descriptor >= 0) {
        ::close(descriptor);
    }
    return flushed;
}

bool writeText(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".partial";
    TextFile file(std::fopen(temporary.c_str(), "w"));
    if (file == nullptr) {
        return false;
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size()
        && std::fflush(file.get()) == 0 && ::fsync(::fileno(file.get())) == 0;
    file.reset();
    return written && std::rename(temporary.c_str(), path.c_str()) == 0;
}

bool isStepName(const std::string& name) {
    constexpr std::string_view kStart = "step-";
    return name.size() > kStart.size() && name.starts_with(kStart)
        && name.find_first_not_of("0123456789", kStart.size()) == std::string::npos;
}

// Opens a regular file to be read: a pipe would be waited for.
std::FILE* openRegular(const std::string& path) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        errno = fs::is_directory(status) ? EISDIR : EINVAL;
        return nullptr;
    }
    return std::fopen(path.c_str(), "rb");
}

std::string readText(const std::string& path) {
    const TextFile file(openRegular(path));
    char text[256] = {};
    if (file != nullptr) {
        text[std::fread(text, 1, sizeof(text) - 1, file.get())] = '\0';
    }
    return text;
}

} // namespace

Checkpoint::Checkpoint(const RunConfig& config, int rank) {
    m_header.magic = kMagic;
    m_header.version = kVersion;
    // TF32 is a way to multiply, its numbers are those of fp32.
    m_header.type
        = static_cast<std::int64_t>(config.type == ElementType::TF32 ? ElementType::F32 : config.type);
    m_header.tensor = config.parallel.tensor;
    m_header.context = config.parallel.context;
    m_header.data = config.parallel.data;
    m_header.pipeline = config.parallel.pipeline;
    m_header.sequenceParallel = config.sequenceParallel ? 1 : 0;
    m_header.virtualStages = config.virtualStages;
    m_header.distributedOptimizer = config.distributedOptimizer ? 1 : 0;
    m_header.layers = config.model.layers;
    m_header.hidden = config.model.hidden;
    m_header.heads = config.model.heads;
    m_header.vocab = config.model.vocab;
    m_header.tiedHead = config.model.tiedHead ? 1 : 0;
    m_header.norm = static_cast<std::int64_t>(config.model.norm);
    m_header.activation = static_cast<std::int64_t>(config.model.activation);
    m_header.mlpHidden = config.model.mlpHidden();
    m_header.microBatch = config.microBatch;
    m_header.microBatches = config.microBatches;
    m_header.seqLen = config.model.seqLen;
    m_header.seed = config.seed;
    m_header.rank = rank;
}

bool Checkpoint::write(
    const std::string& folder, std::int64_t step, const std::vector<Part>& parts, std::string& problem) {
    const std::string target = partialName(folder, step);
    const std::string path = rankFile(target, m_header.rank);
    const auto failed = [&](int error) {
        problem = "checkpoint " + path + " cannot be written: " + std::strerror(error);
        return false;
    };
    std::error_code failure;
    fs::create_directories(target, failure);
    if (failure) {
        return failed(failure.value());
    }
    Header header = m_header;
    header.step = step;
    File file(std::fopen(path.c_str(), "wb"));
    if (file == nullptr) {
        return failed(errno);
    }
    std::uint64_t hash = mix(0xcbf29ce484222325U, &header, sizeof(header));
    bool written = std::fwrite(&header, sizeof(header), 1, file.get()) == 1;
    for (const Part& part : parts) {
        const std::uint64_t bytes = part.bytes;
        hash = mix(hash, part.data, part.bytes);
        written = written && std::fwrite(&bytes, sizeof(bytes), 1, file.get()) == 1
            && std::fwrite(part.data, 1, part.bytes, file.get()) == part.bytes;
    }
    written = written && std::fwrite(&hash, sizeof(hash), 1, file.get()) == 1 && std::fflush(file.get()) == 0
        && ::fsync(::fileno(file.get())) == 0 && flush(target);
    return written || failed(errno);
}

bool Checkpoint::commit(const std::string& folder, std::int64_t step, std::string& problem) {
    const std::string final = folder + "/" + stepName(step);
    std::error_code failure;
    const std::string partial = partialName(folder, step);
    // A checkpoint of the same step, perhaps the only good one, stays until the new one has its place.
    if (!exchange(partial, final)) {
        if (fs::exists(final, failure)) {
            fs::remove_all(setAsideName(folder, step), failure);
            fs::rename(final, setAsideName(folder, step), failure);
        }
        fs::rename(partial, final, failure);
    }
    if (!failure && flush(folder) && writeText(folder + "/latest", stepName(step))) {
        std::error_code ignored;
        fs::remove_all(partial, ignored);
        fs::remove_all(setAsideName(folder, step), ignored);
        return true;
    }
    problem = "checkpoint " + final
        + " cannot be put in its place: " + (failure ? failure.message() : std::strerror(errno));
    return false;
}

void Checkpoint::discard(const std::string& folder, std::int64_t step) {
    std::error_code ignored;
    fs::remove_all(partialName(folder, step), ignored);
}

std::string Checkpoint::mismatch(const Header& other) const {
    using Words = std::vector<const char*>;
    const struct {
        const char* option;
        std::int64_t own, stored;
        Words words = {}; // by value; numbers when there are none
    } fields[] = {
        {"--dtype", m_header.type, other.type, {"fp32", "fp64", "bf16", "tf32", "fp16", "fp8"}},
        {"--tp", m_header.tensor, other.tensor},
        {"--cp", m_header.context, other.context},
        {"--dp", m_header.data, other.data},
        {"--pp", m_header.pipeline, other.pipeline},
        {"--sequence-parallel", m_header.sequenceParallel, other.sequenceParallel},
        {"--virtual-stages", m_header.virtualStages, other.virtualStages},
        {"--zero1", m_header.distributedOptimizer, other.distributedOptimizer},
        {"--layers", m_header.layers, other.layers},
        {"--hidden", m_header.hidden, other.hidden},
        {"--heads", m_header.heads, other.heads},
        {"the vocabulary", m_header.vocab, other.vocab},
        {"a tied head", m_header.tiedHead, other.tiedHead},
        {"--norm", m_header.norm, other.norm, {"layer", "rms"}},
        {"--activation", m_header.activation, other.activation, {"gelu", "swiglu"}},
        {"--mlp-hidden", m_header.mlpHidden, other.mlpHidden},
        {"--micro-batch-size", m_header.microBatch, other.microBatch},
        {"--micro-batches", m_header.microBatches, other.microBatches},
        {"--seq-len", m_header.seqLen, other.seqLen},
        {"--seed", static_cast<std::int64_t>(m_header.seed), static_cast<std::int64_t>(other.seed)},
    };
    for (const auto& field : fields) {
        const auto text = [&](std::int64_t value) {
            const bool named = value >= 0 && value < static_cast<std::int64_t>(field.words.size());
            return named ? std::string(field.words[static_cast<std::size_t>(value)]) : std::to_string(value);
        };
        if (field.own != field.stored) {
            return std::string("was made with ") + field.option + " " + text(field.stored) + ", this run has "
                + text(field.own);
        }
    }
    return {};
}

Checkpoint::File Checkpoint::open(
    const std::string& folder, Header& header, std::string& path, std::string& problem) const {
    const auto wrong = [&](const std::string& what) {
        problem = "checkpoint " + path + " " + what;
        return File();
    };
    path = folder + "/latest";
    std::error_code ignored;
    const bool isNamed = fs::exists(path, ignored);
    const std::string latest = isNamed ? readText(path) : std::string();
    if (isNamed && !isStepName(latest)) {
        return wrong("does not name a checkpoint: step-N is expected");
    }
    std::string named = isNamed ? folder + "/" + latest : folder;
    if (isNamed && !fs::exists(named, ignored) && fs::exists(named + ".old", ignored)) {
        named += ".old"; // the program ended while it put a newer one in its place
    }
    path = rankFile(named, m_header.rank);
    File file(openRegular(path));
    if (file == nullptr) {
        return wrong(std::string("cannot be read: ")
            + (errno == EINVAL ? "it is a pipe or a device" : std::strerror(errno)));
    }
    if (std::fread(&header, sizeof(header), 1, file.get()) != 1 || header.magic != kMagic) {
        return wrong("is no checkpoint of this program");
    }
    if (header.version != kVersion) {
        return wrong("has format version " + std::to_string(header.version) + ", this program reads version "
            + std::to_string(kVersion));
    }
    if (const std::string difference = mismatch(header); !difference.empty()) {
        return wrong(difference);
    }
    if (header.rank != m_header.rank) {
        return wrong("was written by rank " + std::to_string(header.rank));
    }
    // Files of two checkpoints may have come into one folder.
    Header first;
    const File ofFirst(openRegular(rankFile(named, 0)));
    if (ofFirst != nullptr && std::fread(&first, sizeof(first), 1, ofFirst.get()) == 1
        && first.magic == kMagic && first.step != header.step) {
        return wrong("is of step " + std::to_string(header.step) + ", that of rank 0 of step "
            + std::to_string(first.step));
    }
    return file;
}

bool Checkpoint::check(const std::string& folder, std::string& problem) const {
    Header header;
    std::string path;
    return open(folder, header, path, problem) != nullptr;
}

bool Checkpoint::read(const std::string& folder, const std::vector<Part>& parts, std::int64_t& step,
    std::string& problem) const {
    Header header;
    std::string path;
    const File file = open(folder, header, path, problem);
    if (file == nullptr) {
        return false;
    }
    const auto damaged = [&](const std::string& how) {
        problem = "checkpoint " + path + " is damaged: " + how;
        return false;
    };
    std::uint64_t hash = mix(0xcbf29ce484222325U, &header, sizeof(header));
    for (const Part& part : parts) {
        std::uint64_t bytes = 0;
        if (std::fread(&bytes, sizeof(bytes), 1, file.get()) != 1 || bytes != part.bytes
            || std::fread(part.data, 1, part.bytes, file.get()) != part.bytes) {
            return damaged("it ends or differs at byte " + std::to_string(std::ftell(file.get())));
        }
        hash = mix(hash, part.data, part.bytes);
    }
    std::uint64_t stored = 0;
    if (std::fread(&stored, sizeof(stored), 1, file.get()) != 1 || stored != hash) {
        return damaged("its checksum does not fit");
    }
    if (std::fgetc(file.get()) != EOF) {
        return damaged("more bytes follow its end at byte " + std::to_string(std::ftell(file.get()) - 1));
    }
    step = header.step;
    return true;
}

} // namespace gdt::train
