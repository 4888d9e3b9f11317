// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/redact.h"

#include "tests/unit/import/import_fixture.h"

#include <gmock/gmock.h>

namespace gd::importer {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ValidUtf8, ReplacesWhatIsNotText) {
    EXPECT_EQ(validUtf8("grüße €  🙂"), "grüße €  🙂");
    EXPECT_EQ(validUtf8(std::string_view("a\0b", 3)), "a b");
    EXPECT_EQ(validUtf8("\xff"
                        "a"),
        "\xef\xbf\xbd"
        "a");
    EXPECT_EQ(validUtf8("\xc3"), "\xef\xbf\xbd");
    EXPECT_EQ(validUtf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(validUtf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(MaskSecrets, ValuesOfSecretArguments) {
    EXPECT_EQ(maskSecrets("train --lr 3 --api-key abc --steps 5"), "train --lr 3 --api-key *** --steps 5");
    EXPECT_EQ(maskSecrets("train --auth-token=abc X_PASSWORD=1"), "train --auth-token=*** X_PASSWORD=***");
    EXPECT_EQ(maskSecrets(std::string_view("a\0--secret\0two words\0", 22)), "a --secret ***");
    EXPECT_EQ(maskSecrets("get https://me:pw@host/x"), "get https://me:***@host/x");
    EXPECT_EQ(maskSecrets("train --token --verbose"), "train --token --verbose");
    EXPECT_EQ(maskSecrets(""), "");
}

TEST(TextCleaner, KeepsEverythingWithoutAKey) {
    TextCleaner cleaner(std::nullopt);
    cleaner.addHost("node7");
    EXPECT_EQ(cleaner.clean("/home/ann/x.py on node7"), "/home/ann/x.py on node7");
}

TEST(TextCleaner, PathsHostsAndUsersBecomeStableTokens) {
    TextCleaner cleaner(RedactKey{1, 2});
    cleaner.addHost("node7.cluster");
    cleaner.addUser("ann");
    const std::string text = cleaner.clean("at /home/ann/job/train.py: node7 of ann, annotate node77");
    EXPECT_THAT(text, Not(HasSubstr("/home/ann")));
    EXPECT_THAT(text, HasSubstr("/train.py: host-"));
    EXPECT_THAT(text, HasSubstr(" of user-"));
    EXPECT_THAT(text, HasSubstr(", annotate node77"));
    EXPECT_EQ(
        cleaner.clean("/home/ann/job/a.py").substr(0, 14), cleaner.clean("/home/ann/job/b.py").substr(0, 14));
    EXPECT_NE(cleaner.clean("/home/ann/job/a.py"), cleaner.clean("/home/ann/other/a.py"));
    EXPECT_NE(TextCleaner(RedactKey{3, 4}).clean("/home/ann/job/a.py"), cleaner.clean("/home/ann/job/a.py"));
}

TEST(TextCleaner, WhatIsTheSameEverywhereStaysReadable) {
    const TextCleaner cleaner(RedactKey{1, 2});
    EXPECT_EQ(cleaner.clean("/usr/lib/x86_64-linux-gnu/libc.so.6"), "/usr/lib/x86_64-linux-gnu/libc.so.6");
    EXPECT_THAT(cleaner.clean("/data/venv/lib/python3.12/site-packages/torch/cuda/graphs.py"),
        testing::EndsWith("/lib/python3.12/site-packages/torch/cuda/graphs.py"));
    EXPECT_EQ(cleaner.clean("forward/layer_1"), "forward/layer_1");
    EXPECT_EQ(cleaner.clean("void f<a/b>(int)"), "void f<a/b>(int)");
    EXPECT_EQ(cleaner.clean("train.py"), "train.py");
}

class RedactedImport : public test::ImportFixture { };

TEST_F(RedactedImport, LeavesNoNameOfTheMachineInTheFile) {
    test::SpoolWriter process(spool(), 4711, "secrethost");
    process.start();
    process.fact("command_line", "python /home/hiddenuser/project/train.py --data /mnt/hiddenuser/set");
    process.fact("working_directory", "/home/hiddenuser/project");
    process.fact("host", "secrethost.example.org");
    raw::EnvVar user{};
    user.name = process.string("USER");
    user.value = process.string("hiddenuser");
    process.history(user);
    raw::EnvVar master{};
    master.name = process.string("MASTER_ADDR");
    master.value = process.string("secrethost");
    process.history(master);
    raw::Range range{};
    range.timeNs = process.startNs() + 1;
    range.name = process.string("load /home/hiddenuser/project/data.bin");
    range.op = 3;
    process.event(1, range);
    const auto stack = process.stack(
        {}, {{process.string("/home/hiddenuser/project/train.py"), process.string("main"), 4, 0}});
    raw::Alloc alloc{};
    alloc.allocation = 1;
    alloc.timeNs = process.startNs() + 1;
    alloc.stack = stack;
    process.history(alloc);
    process.writeSegment();
    ImportOptions options;
    options.redactKey = RedactKey::random();
    options.command.emplace();
    options.command->commandLine = "python /home/hiddenuser/project/train.py --password x";
    import(options);
    std::ifstream file(out(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    for (const char* name : {"secrethost", "hiddenuser", "/project"})
        EXPECT_EQ(bytes.find(name), std::string::npos) << name;
    EXPECT_EQ(one("SELECT value FROM meta WHERE key = 'redacted'"), "1");
    EXPECT_THAT(one("SELECT file FROM stack_frame"), testing::EndsWith("/train.py"));
}

} // namespace
} // namespace gd::importer
