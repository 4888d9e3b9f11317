// SPDX-License-Identifier: Apache-2.0
#include "cli/run/control.h"

#include "cli/run/spool_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace gd::run {
namespace {

Result<raw::ControlPage*> mapPage(const Fd& fd, const std::filesystem::path& file) {
    void* memory = mmap(nullptr, raw::kControlPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
        return fail(ErrorCode::io, "{} cannot be mapped: {}", file.string(), std::strerror(errno));
    return static_cast<raw::ControlPage*>(memory);
}

} // namespace

std::optional<raw::RecordingLevel> levelFrom(std::string_view word) {
    if (word == "light")
        return raw::RecordingLevel::Light;
    if (word == "standard")
        return raw::RecordingLevel::Standard;
    if (word == "full")
        return raw::RecordingLevel::Full;
    return std::nullopt;
}

Result<Control> Control::create(const std::filesystem::path& spool, const Start& start) {
    const std::filesystem::path file = spool / raw::kControlPageName;
    const Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    // Written, not only extended: a full disk is an error here and not a SIGBUS later.
    const std::string zeros(raw::kControlPageBytes, '\0');
    if (!fd || pwrite(fd.get(), zeros.data(), zeros.size(), 0) != static_cast<ssize_t>(zeros.size()))
        return fail(ErrorCode::io, "{} cannot be written: {}", file.string(), std::strerror(errno));
    GD_TRY_ASSIGN(raw::ControlPage * page, mapPage(fd, file));
    page->version = raw::kRawVersion;
    page->level = static_cast<std::uint32_t>(start.level);
    page->parentPid = static_cast<std::uint32_t>(getpid());
    page->redact = start.redact ? 1 : 0;
    page->maxEventBytes = start.maxEventBytes;
    page->generation = 1;
    std::atomic_ref(page->magic).store(raw::kControlMagic, std::memory_order_release);
    return Control(page);
}

Result<Control> Control::open(const std::filesystem::path& spool) {
    const std::filesystem::path file = spool / raw::kControlPageName;
    const Fd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    struct stat info = {};
    if (!fd || fstat(fd.get(), &info) != 0)
        return fail(ErrorCode::io, "{} cannot be opened: {}", file.string(), std::strerror(errno));
    if (info.st_size < static_cast<off_t>(raw::kControlPageBytes))
        return fail(ErrorCode::badInput, "{} has {} bytes; a control page of {} is expected", file.string(),
            info.st_size, raw::kControlPageBytes);
    GD_TRY_ASSIGN(raw::ControlPage * page, mapPage(fd, file));
    return Control(page);
}

Control::Control(Control&& other) noexcept
    : m_page(std::exchange(other.m_page, nullptr)) { }

Control::~Control() {
    if (m_page != nullptr)
        munmap(m_page, raw::kControlPageBytes);
}

void Control::setLevel(raw::RecordingLevel level) {
    std::atomic_ref(m_page->level).store(static_cast<std::uint32_t>(level), std::memory_order_relaxed);
    std::atomic_ref(m_page->generation).fetch_add(1, std::memory_order_release);
}

raw::RecordingLevel Control::level() const {
    return static_cast<raw::RecordingLevel>(std::atomic_ref(m_page->level).load(std::memory_order_relaxed));
}

} // namespace gd::run
