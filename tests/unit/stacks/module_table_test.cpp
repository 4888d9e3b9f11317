// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/module_table.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using gd::stacks::LoadedModule;
using gd::stacks::ModuleTable;

int anchor() {
    return 1;
}

const LoadedModule* moduleOf(const std::vector<LoadedModule>& modules, std::uint64_t address) {
    const auto found = std::find_if(modules.begin(), modules.end(),
        [&](const LoadedModule& module) { return address >= module.from && address < module.to; });
    return found == modules.end() ? nullptr : &*found;
}

TEST(ModuleTable, ReportsTheExecutableAndTheCLibrary) {
    ModuleTable table;
    const auto modules = table.poll();
    const LoadedModule* own = moduleOf(modules, reinterpret_cast<std::uint64_t>(&anchor));
    ASSERT_NE(own, nullptr);
    EXPECT_NE(own->path.find("stacks_test"), std::string::npos);
    const LoadedModule* libc
        = moduleOf(modules, reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
    ASSERT_NE(libc, nullptr);
    EXPECT_NE(libc->path.find("libc.so"), std::string::npos);
    EXPECT_EQ(libc->buildId.size(), 40U);
    EXPECT_EQ(libc->buildId.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(ModuleTable, ReportsOnlyWhatIsNew) {
    ModuleTable table;
    table.poll();
    EXPECT_TRUE(table.poll().empty());
    void* library = dlopen(GD_CHAIN_LIBRARY, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto address = reinterpret_cast<std::uint64_t>(dlsym(library, "gdChainCall"));
    const auto added = table.poll();
    EXPECT_NE(moduleOf(added, address), nullptr);
    EXPECT_EQ(added.size(), 1U);
    dlclose(library);
    EXPECT_TRUE(table.poll().empty());
    library = dlopen(GD_CHAIN_LIBRARY, RTLD_NOW);
    EXPECT_EQ(table.poll().size(), 1U);
    dlclose(library);
}

// The loader's lock of a thread that the child does not have would be held for ever.
TEST(ModuleTable, AChildThatIsForkedDuringALookCanLoad) {
    std::atomic<bool> stop{false};
    std::thread looking([&] {
        ModuleTable table;
        while (!stop) {
            table.poll();
        }
    });
    int status = 0;
    for (int i = 0; i < 100 && status == 0; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            _exit(dlopen(GD_CHAIN_LIBRARY, RTLD_NOW) != nullptr ? 0 : 1);
        }
        waitpid(child, &status, 0);
    }
    stop = true;
    looking.join();
    EXPECT_EQ(status, 0);
}

} // namespace
