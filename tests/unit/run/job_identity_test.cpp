// SPDX-License-Identifier: Apache-2.0
#include "cli/run/job_identity.h"

#include "tests/unit/run/variables.h"

#include <gtest/gtest.h>

using namespace gd::run;
using gd::test::Variables;

namespace {

TEST(JobIdentity, IsNothingOutsideALauncher) {
    EXPECT_FALSE(identifyJob(Variables{}));
}

TEST(JobIdentity, KnowsASlurmStepButNotABatchScript) {
    Variables slurm{{{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "3"}, {"SLURM_PROCID", "1"},
        {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}}};
    const auto job = identifyJob(slurm);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->key, "slurm-12.3");
    EXPECT_EQ(job->localSize, 4);
    slurm.values["SLURM_STEP_ID"] = "4294967291";
    EXPECT_FALSE(identifyJob(slurm));
    slurm.values.erase("SLURM_STEP_ID");
    EXPECT_FALSE(identifyJob(slurm));
}

TEST(JobIdentity, TellsTorchrunJobsApartByAddressToo) {
    Variables torch{{{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"},
        {"LOCAL_WORLD_SIZE", "8"}}};
    const auto first = identifyJob(torch);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->localSize, 8);
    EXPECT_EQ(first->jobId, "a-1");
    torch.values["MASTER_PORT"] = "2";
    EXPECT_NE(identifyJob(torch)->key, first->key);
}

TEST(JobIdentity, RanksOfOneJobAgree) {
    Variables rank0{{{"OMPI_MCA_ess_base_jobid", "77"}, {"OMPI_COMM_WORLD_RANK", "0"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}};
    Variables rank1 = rank0;
    rank1.values["OMPI_COMM_WORLD_RANK"] = "1";
    EXPECT_EQ(identifyJob(rank0)->key, identifyJob(rank1)->key);
    EXPECT_EQ(rankOf(rank1), "1");
    EXPECT_EQ(identifyJob(Variables{{{"PMIX_NAMESPACE", "prterun-x@1"}}})->key, "pmix-prterun-x_1");
}

TEST(JobIdentity, KeysAreSafeFileNames) {
    EXPECT_EQ(safeName("a/../b c\n"), "a_.._b_c_");
    EXPECT_EQ(safeName(std::string(300, 'x')).size(), 100u);
}

} // namespace
