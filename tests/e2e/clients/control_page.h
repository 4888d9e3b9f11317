// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/// The job's own control page, as `graphdoctor ctl` would use it: a client changes the level it is recorded
/// at. Does nothing in a process that is not recorded. The first words of collector/raw/control_page.h:
/// magic, version, level, window, flush request, generation.
class ControlPage {
public:
    ControlPage() {
        const char* spool = std::getenv("GRAPHDOCTOR_SPOOL");
        if (spool == nullptr) {
            return;
        }
        const int file = open((std::string(spool) + "/control").c_str(), O_RDWR);
        if (file >= 0) {
            void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            m_words = page == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint32_t>*>(page);
            close(file);
        }
    }
    void setLevel(std::uint32_t level) {
        if (m_words != nullptr) {
            m_words[2].store(level);
            m_words[5].fetch_add(1);
        }
    }

private:
    std::atomic<std::uint32_t>* m_words = nullptr;
};
