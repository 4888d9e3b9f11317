// SPDX-License-Identifier: Apache-2.0
#include "cli/run/child_process.h"

#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

using namespace gd::run;
using Kind = ChildEnd::Kind;

namespace {

ChildEnd run(const std::vector<std::string>& command,
    const std::vector<std::string>& environment = {"PATH=/usr/bin:/bin"}) {
    return runChild(command, environment).value();
}

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

TEST(ChildProcess, GivesTheCommandsOwnStatus) {
    const ChildEnd end = run({"sh", "-c", "exit 7"});
    EXPECT_EQ(end.kind, Kind::exited);
    EXPECT_EQ(end.status(), 7);
    EXPECT_GT(end.pid, 0);
}

TEST(ChildProcess, SaysASignalAs128PlusItsNumber) {
    const ChildEnd end = run({"sh", "-c", "kill -9 $$"});
    EXPECT_EQ(end.kind, Kind::signalled);
    EXPECT_EQ(end.code, 9);
    EXPECT_EQ(end.status(), 137);
}

TEST(ChildProcess, TellsNotFoundFromNotExecutable) {
    const gd::test::TemporaryFolder folder;
    EXPECT_EQ(run({"no-such-command-anywhere"}).status(), 127);
    EXPECT_EQ(run({(folder.path() / "missing").string()}).status(), 127);
    EXPECT_EQ(run({folder.path().string()}).status(), 126);
    const auto plain = folder.path() / "plain";
    std::ofstream(plain) << "text";
    const ChildEnd end = run({plain.string()});
    EXPECT_EQ(end.status(), 126);
    EXPECT_THAT(end.why, testing::HasSubstr(plain.string()));
    EXPECT_FALSE(end.began());
}

TEST(ChildProcess, AMissingInterpreterIsNotExecutable) {
    const gd::test::TemporaryFolder folder;
    const auto script = folder.path() / "script";
    std::ofstream(script) << "#!/no/such/interpreter\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    const ChildEnd end = run({script.string()});
    EXPECT_EQ(end.status(), 126);
    EXPECT_THAT(end.why, testing::HasSubstr("interpreter"));
}

TEST(ChildProcess, GetsTheGivenEnvironmentAndLeadsItsOwnGroup) {
    const gd::test::TemporaryFolder folder;
    const auto out = folder.path() / "out";
    const ChildEnd end
        = run({"sh", "-c", "echo $GIVEN > " + out.string() + "; ps -o pgid= -p $$ >> " + out.string()},
            {"PATH=/usr/bin:/bin", "GIVEN=value"});
    std::istringstream text(read(out));
    std::string given;
    pid_t group = 0;
    text >> given;
    EXPECT_EQ(given, "value");
    if (text >> group) { // without ps only the first half is checked
        EXPECT_EQ(group, end.pid);
    }
}

// The waiting side runs in a forked process, so that the signal does not reach the test program.
TEST(ChildProcess, ForwardsSignalsToTheWholeGroup) {
    const gd::test::TemporaryFolder folder;
    const auto ready = folder.path() / "ready";
    ASSERT_EQ(mkfifo(ready.c_str(), 0600), 0);
    const pid_t waiter = fork();
    if (waiter == 0) {
        // A grandchild that only the group reaches; the shell reports how it ended.
        const auto end = runChild({"sh", "-c",
                                      "trap 'wait $!; exit $?' TERM; sh -c 'trap \"exit 5\" TERM; echo x > "
                                          + ready.string() + "; while :; do sleep 0.01; done' & wait $!"},
            {"PATH=/usr/bin:/bin"});
        _exit(end ? end->status() : 99);
    }
    read(ready); // until the grandchild is there
    kill(waiter, SIGTERM);
    int status = 0;
    ASSERT_EQ(waitpid(waiter, &status, 0), waiter);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST(ChildProcess, KeepsIgnoredSignalsIgnored) {
    const pid_t waiter = fork();
    if (waiter == 0) {
        signal(SIGHUP, SIG_IGN); // as nohup does
        const auto end = runChild({"sh", "-c", "kill -HUP $$; exit 3"}, {"PATH=/usr/bin:/bin"});
        _exit(end ? end->status() : 99);
    }
    int status = 0;
    ASSERT_EQ(waitpid(waiter, &status, 0), waiter);
    EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(ChildProcess, SeesTheEndEvenWhenChildrenAreIgnored) {
    const pid_t waiter = fork();
    if (waiter == 0) {
        signal(SIGCHLD, SIG_IGN);
        const auto end = runChild({"sh", "-c", "exit 4"}, {"PATH=/usr/bin:/bin"});
        _exit(end ? end->status() : 99);
    }
    int status = 0;
    ASSERT_EQ(waitpid(waiter, &status, 0), waiter);
    EXPECT_EQ(WEXITSTATUS(status), 4);
}

TEST(InterruptExit, EndsWithTheMessageAndRemovesUnfinishedFiles) {
    const gd::test::TemporaryFolder folder;
    const auto unfinished = folder.path() / "part";
    const auto errors = folder.path() / "stderr";
    std::ofstream(unfinished) << "x";
    const pid_t process = fork();
    if (process == 0) {
        if (freopen(errors.c_str(), "w", stderr) == nullptr)
            _exit(98);
        signal(SIGINT, SIG_DFL); // in the background of a shell it is ignored
        const InterruptExit guard("later\n", {unfinished.string()}, 42);
        raise(SIGINT);
        _exit(97);
    }
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(WEXITSTATUS(status), 42);
    EXPECT_EQ(read(errors), "later\n");
    EXPECT_FALSE(std::filesystem::exists(unfinished));
}

} // namespace
