// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

// Functions as compilers do not write them: two names of one place, a gap, one without a size, one inside
// another. Sixteen bytes each.
asm(R"(
    .text
    .globl gd_test_shapes
    .weak gd_test_weak
    .type gd_test_shapes, @function
    .type gd_test_weak, @function
    .type gd_test_local, @function
gd_test_local:
gd_test_weak:
gd_test_shapes:
    .fill 16, 1, 0x90
    .size gd_test_shapes, 16
    .size gd_test_weak, 16
    .size gd_test_local, 16
    .fill 16, 1, 0x90
    .type gd_test_no_size, @function
gd_test_no_size:
    .fill 16, 1, 0x90
    .type gd_test_outer, @function
    .type gd_test_inner, @function
gd_test_outer:
    .fill 4, 1, 0x90
gd_test_inner:
    .fill 4, 1, 0x90
    .size gd_test_inner, 4
    .fill 8, 1, 0x90
    .size gd_test_outer, 16
)");
extern "C" const char gd_test_shapes[];

namespace gd::importer {

// The return address of a call inside an inlined function; the line of each call is kept.
struct Site {
    std::uint64_t address;
    int innerLine;
    int outerLine;
};

__attribute__((noinline)) std::uint64_t returnAddress() {
    return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}

__attribute__((always_inline)) inline std::uint64_t inlinedCaller(int& line) {
    line = __LINE__ + 1;
    const std::uint64_t address = returnAddress();
    asm volatile("" ::: "memory"); // no tail call
    return address;
}

__attribute__((noinline)) Site outerCaller() {
    Site site{};
    site.outerLine = __LINE__ + 1;
    site.address = inlinedCaller(site.innerLine);
    return site;
}

namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

std::uint64_t ownBase() {
    std::uint64_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
            return 1; // the program itself comes first
        },
        &base);
    return base;
}

std::string ownPath() {
    return fs::read_symlink("/proc/self/exe").string();
}

class SymbolizerTest : public testing::Test {
protected:
    // A changed copy of this program, removed afterwards.
    std::string copyThrough(const std::string& command) {
        m_copy = fs::temp_directory_path() / ("gd-symbolizer-" + std::to_string(::getpid()));
        const std::string line = command + " " + ownPath() + " " + m_copy.string() + " 2>/dev/null";
        return std::system(line.c_str()) == 0 ? m_copy.string() : std::string();
    }
    void TearDown() override {
        if (!m_copy.empty())
            fs::remove(m_copy);
    }

    Symbolizer m_symbolizer;

private:
    fs::path m_copy;
};

TEST_F(SymbolizerTest, NamesFunctionFileAndLineOfInlinedCalls) {
    const Site site = outerCaller();
    const auto& frames = m_symbolizer.resolve({ownPath(), {}}, site.address - ownBase());
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_THAT(frames[0].function, HasSubstr("inlinedCaller"));
    EXPECT_TRUE(frames[0].inlined);
    EXPECT_THAT(frames[0].file, EndsWith("tests/unit/import/symbolizer_test.cpp"));
    EXPECT_EQ(frames[0].line, static_cast<std::uint32_t>(site.innerLine));
    EXPECT_EQ(frames[1].function, "gd::importer::outerCaller()");
    EXPECT_FALSE(frames[1].inlined);
    EXPECT_EQ(frames[1].line, static_cast<std::uint32_t>(site.outerLine));
}

TEST_F(SymbolizerTest, WithoutDwarfTheSymbolTableNamesTheFunction) {
    const std::string copy = copyThrough("objcopy --strip-debug");
    if (copy.empty())
        GTEST_SKIP() << "objcopy is not there";
    const Site site = outerCaller();
    const auto& frames = m_symbolizer.resolve({copy, {}}, site.address - ownBase());
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].function, "gd::importer::outerCaller()");
    EXPECT_EQ(frames[0].file, "");
    EXPECT_EQ(frames[0].line, 0u);
}

TEST_F(SymbolizerTest, SymbolsNameWhatTheirSizesCover) {
    const std::uint64_t start = reinterpret_cast<std::uint64_t>(gd_test_shapes) - ownBase();
    const auto nameAt = [&](std::uint64_t offset) {
        const auto& frames = m_symbolizer.resolve({ownPath(), {}}, start + offset + 1);
        return frames.empty() ? std::string() : frames.back().function;
    };
    EXPECT_EQ(nameAt(0), "gd_test_shapes"); // the global name before the weak and the local one
    EXPECT_EQ(nameAt(15), "gd_test_shapes");
    EXPECT_EQ(nameAt(16), ""); // behind its end
    EXPECT_EQ(nameAt(31), "");
    EXPECT_EQ(nameAt(32), "gd_test_no_size");
    EXPECT_EQ(nameAt(47), "gd_test_no_size");
    EXPECT_EQ(nameAt(48), "gd_test_outer");
    EXPECT_EQ(nameAt(52), "gd_test_inner");
    EXPECT_EQ(nameAt(56), "gd_test_outer"); // the inner one has ended
    EXPECT_EQ(nameAt(63), "gd_test_outer");
}

TEST_F(SymbolizerTest, AFileOfAnotherBuildIsNotUsed) {
    const ModuleKey key{ownPath(), "00112233"};
    EXPECT_EQ(m_symbolizer.stateOf(key), Symbolizer::ModuleState::otherBuild);
    EXPECT_TRUE(m_symbolizer.resolve(key, outerCaller().address - ownBase()).empty());
}

TEST_F(SymbolizerTest, MissingAndForeignFilesGiveNothing) {
    for (const char* path : {"/nonexistent/lib.so", "/dev/zero", "/etc/passwd", "", "[vdso]"}) {
        EXPECT_EQ(m_symbolizer.stateOf({path, {}}), Symbolizer::ModuleState::missing) << path;
        EXPECT_TRUE(m_symbolizer.resolve({path, {}}, 0x1000).empty()) << path;
    }
}

TEST_F(SymbolizerTest, AddressesOutsideOfTheCodeGiveNothing) {
    for (const std::uint64_t address :
        {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 40})
        EXPECT_TRUE(m_symbolizer.resolve({ownPath(), {}}, address).empty()) << address;
}

TEST_F(SymbolizerTest, ACutOffFileNeverCrashes) {
    const std::string copy = copyThrough("cp");
    ASSERT_FALSE(copy.empty());
    const auto whole = fs::file_size(copy);
    for (const std::uintmax_t size :
        {whole / 2, whole / 10, std::uintmax_t{4096}, std::uintmax_t{64}, std::uintmax_t{1}}) {
        fs::resize_file(copy, size);
        Symbolizer symbolizer;
        static_cast<void>(symbolizer.resolve({copy, {}}, outerCaller().address - ownBase()));
    }
}

} // namespace
} // namespace gd::importer
