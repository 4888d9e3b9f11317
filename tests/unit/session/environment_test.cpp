// SPDX-License-Identifier: Apache-2.0
#include "collector/raw/records_process.h"
#include "collector/session/session.h"
#include "tests/unit/session/session_test_support.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace gd::session {

namespace {

/// A table of variables as setenv() makes it, in memory that is gone with the object.
class Table {
public:
    explicit Table(unsigned count) {
        const std::size_t pointers = (count + 1) * sizeof(char*);
        m_bytes = pointers + count * kEntryBytes;
        m_memory = mmap(nullptr, m_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        auto** table = static_cast<char**>(m_memory);
        char* text = static_cast<char*>(m_memory) + pointers;
        for (unsigned i = 0; i < count; ++i, text += kEntryBytes) {
            const std::string entry = "CUDA_OF_THE_JOB_" + std::to_string(i) + "=x";
            table[i] = std::strcpy(text, entry.c_str());
        }
    }
    ~Table() { munmap(m_memory, m_bytes); }
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    char** entries() const { return static_cast<char**>(m_memory); }

private:
    static constexpr std::size_t kEntryBytes = 32;
    void* m_memory = nullptr;
    std::size_t m_bytes = 0;
};

} // namespace

// setenv() moves the table and frees the old one, whoever reads it just then.
TEST(Environment, TheJobMayChangeItWhileTheSessionOpens) {
    test::SpoolBuilder spool;
    ASSERT_EQ(spool.run([] {
        constexpr unsigned kVariables = 20'000;
        char** const before = environ;
        auto table = std::make_unique<Table>(kVariables);
        // What the collector needs itself, at the end: whoever looks for it reads all of the table.
        char** last = table->entries() + kVariables - 1;
        for (char** entry = before; *entry != nullptr; ++entry) {
            if (std::strncmp(*entry, "GRAPHDOCTOR_SPOOL=", 18) == 0) {
                *last = *entry;
            }
        }
        environ = table->entries();
        std::thread changing([&] {
            while (currentSession() == nullptr) { } // its threads have begun
            environ = before;
            table.reset();
        });
        sink::alloc(memoryAt(0x1000));
        changing.join();
        _exit(eventually([] { return currentSession()->greeted != 0; }) ? 0 : 1);
    }),
        0);
    const auto recorded = read(spool).historyOf<raw::EnvVar>();
    EXPECT_GE(recorded.size(), 1000u) << "as it was";
}

} // namespace gd::session
