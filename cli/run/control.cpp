// SPDX-License-Identifier: Apache-2.0
#include "cli/run/control.h"

#include "cli/run/spool_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
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

std::int64_t monotonicNs() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::uint32_t load(std::uint32_t& word) {
    return std::atomic_ref(word).load(std::memory_order_acquire);
}

void store(std::uint32_t& word, std::uint32_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
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

std::string_view levelName(raw::RecordingLevel level) {
    constexpr std::string_view kNames[] = {"off", "history", "light", "standard", "full"};
    const auto number = static_cast<std::size_t>(level);
    return number < std::size(kNames) ? kNames[number] : "unknown";
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
    page->startNs = start.countsFromNow ? monotonicNs() : 0;
    page->wantedLevel = page->level;
    // A longer pattern is only missing in `ctl report`; processes get it from their environment.
    if (start.stepRange.size() < sizeof page->stepRange)
        start.stepRange.copy(page->stepRange, start.stepRange.size());
    if (start.windows.size() < sizeof page->windows)
        start.windows.copy(page->windows, start.windows.size());
    page->generation = 1;
    std::atomic_ref(page->magic).store(raw::kControlMagic, std::memory_order_release);
    return Control(page);
}

Result<Control> Control::open(const std::filesystem::path& spool) {
    const std::filesystem::path file = spool / raw::kControlPageName;
    const Fd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    struct stat info = {};
    if (!fd || fstat(fd.get(), &info) != 0)
        return fail(ErrorCode::io, "{} cannot be opened: {}", file.string(), std::strerror(errno));
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid())
        return fail(ErrorCode::badInput, "{} is no file of this user; a control page is expected there",
            file.string());
    if (info.st_size < static_cast<off_t>(raw::kControlPageBytes))
        return fail(ErrorCode::badInput, "{} has {} bytes; a control page of {} is expected", file.string(),
            info.st_size, raw::kControlPageBytes);
    GD_TRY_ASSIGN(raw::ControlPage * page, mapPage(fd, file));
    Control control(page);
    if (load(page->magic) != raw::kControlMagic || page->version != raw::kRawVersion)
        return fail(ErrorCode::badInput, "{} is no control page of this version", file.string());
    return control;
}

Control::Control(Control&& other) noexcept
    : m_page(std::exchange(other.m_page, nullptr)) { }

Control::~Control() {
    if (m_page != nullptr)
        munmap(m_page, raw::kControlPageBytes);
}

void Control::start() {
    store(m_page->manual, 1);
    std::atomic_ref(m_page->window).fetch_add(1, std::memory_order_relaxed);
    setLevel(wantedLevel());
}

void Control::stop(raw::RecordingLevel level) {
    store(m_page->manual, 1);
    setLevel(level);
}

std::uint32_t Control::requestFlush() {
    const std::uint32_t before
        = std::atomic_ref(m_page->flushRequest).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref(m_page->generation).fetch_add(1, std::memory_order_release);
    return before + 1;
}

std::uint32_t Control::window() const {
    return load(m_page->window);
}

bool Control::isManual() const {
    return load(m_page->manual) != 0;
}

raw::RecordingLevel Control::wantedLevel() const {
    return static_cast<raw::RecordingLevel>(m_page->wantedLevel);
}

std::string Control::stepRange() const {
    return {m_page->stepRange, strnlen(m_page->stepRange, sizeof m_page->stepRange)};
}

std::string Control::windows() const {
    return {m_page->windows, strnlen(m_page->windows, sizeof m_page->windows)};
}

void Control::setLevel(raw::RecordingLevel level) {
    std::atomic_ref(m_page->level).store(static_cast<std::uint32_t>(level), std::memory_order_relaxed);
    std::atomic_ref(m_page->generation).fetch_add(1, std::memory_order_release);
}

raw::RecordingLevel Control::level() const {
    return static_cast<raw::RecordingLevel>(std::atomic_ref(m_page->level).load(std::memory_order_relaxed));
}

} // namespace gd::run
