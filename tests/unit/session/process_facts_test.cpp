// SPDX-License-Identifier: Apache-2.0
#include "collector/session/process_facts.h"

#include "collector/raw/records_process.h"
#include "collector/session/session.h"
#include "tests/unit/session/session_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace gd::session {

namespace {

std::string masked(std::vector<std::string> arguments) {
    std::string joined;
    for (const std::string& argument : arguments) {
        joined += (joined.empty() ? "" : std::string(1, '\0')) + argument;
    }
    char out[512];
    return {out, maskCommandLine(joined, out, sizeof out)};
}

} // namespace

TEST(ProcessFacts, MasksTheValuesOfSecrets) {
    EXPECT_EQ(masked({"train", "--api-key", "abc", "--lr", "1"}), "train --api-key *** --lr 1");
    EXPECT_EQ(masked({"train", "--hf_token=abc"}), "train --hf_token=***");
    EXPECT_EQ(masked({"train", "DB_PASSWORD=x y"}), "train DB_PASSWORD=***");
    EXPECT_EQ(masked({"train", "--Secret", "--verbose"}), "train --Secret --verbose");
    EXPECT_EQ(masked({"/opt/keys/train", "monkey", "x"}), "/opt/keys/train monkey x");
    EXPECT_EQ(masked({"train", "", "a b", "it's"}), "train '' 'a b' 'it'\\''s'");
}

TEST(ProcessFacts, KnowsWhichVariablesAreRecordedAndWhichAreSecret) {
    EXPECT_TRUE(isRecordedVariable("CUDA_VISIBLE_DEVICES"));
    EXPECT_TRUE(isRecordedVariable("NCCL_DEBUG"));
    EXPECT_TRUE(isRecordedVariable("SLURM_PROCID"));
    EXPECT_TRUE(isRecordedVariable("LD_LIBRARY_PATH"));
    EXPECT_FALSE(isRecordedVariable("HOME"));
    EXPECT_FALSE(isRecordedVariable("AWS_REGION"));
    EXPECT_TRUE(namesSecret("TORCH_HUB_TOKEN"));
    EXPECT_TRUE(namesSecret("CUDA_ApiKey"));
    EXPECT_FALSE(namesSecret("CUDA_VISIBLE_DEVICES"));
}

TEST(ProcessFacts, AreInTheSpool) {
    test::SpoolBuilder spool;
    spool.setVariable("RANK", "3");
    spool.setVariable("WORLD_SIZE", "8");
    spool.setVariable("TORCHELASTIC_RUN_ID", "run-1");
    spool.setVariable("TORCH_HUB_TOKEN", "very secret");
    spool.setVariable("UNRELATED", "private");
    spool.setLevel(raw::RecordingLevel::Standard);
    ASSERT_EQ(spool.run([] {
        sink::fact("framework", "test");
        _exit(eventually([] { return currentSession()->introduced != 0; }) ? 0 : 1);
    }),
        0);
    const std::string segment = spool.segments().at(0);
    const test::RawSpool raw(segment, test::SpoolBuilder::ringOf(segment));
    EXPECT_EQ(raw.fact("framework"), "test");
    EXPECT_EQ(raw.fact("rank"), "3");
    EXPECT_EQ(raw.fact("world_size"), "8");
    EXPECT_EQ(raw.fact("launcher"), "torchrun");
    EXPECT_EQ(raw.fact("job_id"), "run-1");
    EXPECT_THAT(raw.fact("command_line"), testing::HasSubstr("session_test"));
    EXPECT_THAT(raw.fact("executable"), testing::EndsWith("session_test"));
    std::map<std::string, std::string> variables;
    for (const raw::EnvVar& variable : raw.historyOf<raw::EnvVar>()) {
        variables[raw.string(variable.name)] = raw.string(variable.value);
    }
    EXPECT_EQ(variables["TORCH_HUB_TOKEN"], "***");
    EXPECT_EQ(variables["RANK"], "3");
    EXPECT_EQ(variables.count("UNRELATED"), 0u);
    EXPECT_GE(raw.historyOf<raw::Module>().size(), 3u);
}

} // namespace gd::session
