// SPDX-License-Identifier: Apache-2.0
#include "tests/support/spool_builder.h"

#include "collector/raw/ring_header.h"
#include "collector/raw/spool_name.h"
#include "collector/raw/version.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
// Children of this builder fork and start threads, which is what is under test.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
    return "die_after_fork=0";
}
#endif

namespace gd::test {

namespace fs = std::filesystem;

SpoolBuilder::SpoolBuilder(const std::string& parentFolder) {
    const std::string base = parentFolder.empty() ? fs::temp_directory_path().string() : parentFolder;
    std::string name = base + "/gd-spool-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("cannot make a spool folder in " + base);
    }
    m_path = name;
    setVariable(raw::kEnvSpool, m_path);
}

SpoolBuilder::~SpoolBuilder() {
    std::error_code ignored;
    for (const std::string& segment : segments()) {
        fs::remove(ringOf(segment), ignored);
    }
    fs::remove_all(m_path, ignored);
    if (m_page != nullptr) {
        munmap(m_page, raw::kControlPageBytes);
    }
}

void SpoolBuilder::setVariable(const std::string& name, const std::string& value) {
    m_variables.emplace_back(name, value);
}

raw::ControlPage* SpoolBuilder::page() {
    if (m_page == nullptr) {
        const std::string file = m_path + "/" + raw::kControlPageName;
        const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, raw::kControlPageBytes) != 0) {
            throw std::runtime_error("cannot make " + file);
        }
        void* map = mmap(nullptr, raw::kControlPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (map == MAP_FAILED) {
            throw std::runtime_error("cannot map " + file);
        }
        m_page = static_cast<raw::ControlPage*>(map);
        m_page->version = raw::kRawVersion;
        m_page->level = static_cast<std::uint32_t>(raw::RecordingLevel::Standard);
        std::atomic_ref(m_page->magic).store(raw::kControlMagic, std::memory_order_release);
    }
    return m_page;
}

void SpoolBuilder::setLevel(raw::RecordingLevel level) {
    std::atomic_ref(page()->level).store(static_cast<std::uint32_t>(level), std::memory_order_release);
    std::atomic_ref(page()->generation).fetch_add(1, std::memory_order_release);
}

void SpoolBuilder::startByHand() {
    std::atomic_ref(page()->manual).store(1, std::memory_order_release);
    setLevel(raw::RecordingLevel::Standard);
}

void SpoolBuilder::stopByHand() {
    std::atomic_ref(page()->manual).store(1, std::memory_order_release);
    setLevel(raw::RecordingLevel::History);
}

void SpoolBuilder::requestFlush() {
    std::atomic_ref(page()->flushRequest).fetch_add(1, std::memory_order_release);
    std::atomic_ref(page()->generation).fetch_add(1, std::memory_order_release);
}

int SpoolBuilder::start(const std::function<void()>& body, Ending ending) {
    const int child = fork();
    if (child != 0) {
        return child;
    }
    for (const auto& [name, value] : m_variables) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    try {
        body();
    } catch (...) {
        _exit(99);
    }
    if (ending == Ending::Kill) {
        kill(getpid(), SIGKILL);
    }
    _exit(0);
}

int SpoolBuilder::run(const std::function<void()>& body, Ending ending) {
    const int child = start(body, ending);
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

std::vector<std::string> SpoolBuilder::segments() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(m_path)) {
        if (entry.path().extension() == raw::kSegmentSuffix) {
            found.push_back(entry.path().string());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string SpoolBuilder::ringOf(const std::string& segment) {
    const fs::path file(segment);
    const std::string ring = file.stem().string() + raw::kRingSuffix;
    const std::string folder = std::string(raw::kFolderPrefix) + std::to_string(geteuid());
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    for (const std::string& place :
        {std::string(runtime != nullptr ? runtime : ""), std::string("/dev/shm")}) {
        const fs::path candidate = fs::path(place) / folder / ring;
        if (!place.empty() && fs::exists(candidate)) {
            return candidate.string();
        }
    }
    return (file.parent_path() / ring).string();
}

} // namespace gd::test
