// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/time.h"

#include <gtest/gtest.h>

namespace gd::base {
namespace {

TEST(Duration, ReadsEveryUnit) {
    EXPECT_EQ(*parseDuration("200ns"), 200);
    EXPECT_EQ(*parseDuration("10us"), 10'000);
    EXPECT_EQ(*parseDuration("500ms"), 500'000'000);
    EXPECT_EQ(*parseDuration("1.5s"), 1'500'000'000);
    EXPECT_EQ(*parseDuration("2min"), 120'000'000'000);
    EXPECT_EQ(*parseDuration("1h"), 3'600'000'000'000);
}

TEST(Duration, RefusesWhatIsNone) {
    for (const char* text :
        {"", "5", "ms", "-1s", "1.5.5s", "5 s", "1e99s", "9999999999h", "nan", "inf s", "5S"})
        EXPECT_FALSE(parseDuration(text)) << text;
    EXPECT_EQ(parseDuration("5").error().message, "\"5\" is not a duration such as 500ms, 1.5s or 2min");
    EXPECT_EQ(parseDuration("5").error().code, ErrorCode::usage);
}

TEST(Duration, FormatsThreeDigits) {
    EXPECT_EQ(formatDuration(0), "0 ns");
    EXPECT_EQ(formatDuration(999), "999 ns");
    EXPECT_EQ(formatDuration(1'000), "1.00 us");
    EXPECT_EQ(formatDuration(16'340), "16.3 us");
    EXPECT_EQ(formatDuration(999'499), "999 us");
    EXPECT_EQ(formatDuration(999'500), "1.00 ms");
    EXPECT_EQ(formatDuration(2'054'000), "2.05 ms");
    EXPECT_EQ(formatDuration(59'900'000'000), "59.9 s");
    EXPECT_EQ(formatDuration(59'999'999'999), "1 min 00 s");
    EXPECT_EQ(formatDuration(125'400'000'000), "2 min 05 s");
    EXPECT_EQ(formatDuration(3'725'000'000'000), "1 h 02 min");
    EXPECT_EQ(formatDuration(-1'500), "-1.50 us");
}

TEST(Bytes, ReadsDecimalAndBinaryUnits) {
    EXPECT_EQ(*parseBytes("4GB"), 4'000'000'000);
    EXPECT_EQ(*parseBytes("64KiB"), 65'536);
    EXPECT_EQ(*parseBytes("1.5MiB"), 1'572'864);
    EXPECT_FALSE(parseBytes("4"));
    EXPECT_FALSE(parseBytes("9999999TiB"));
}

TEST(Bytes, Formats) {
    EXPECT_EQ(formatBytes(0), "0 B");
    EXPECT_EQ(formatBytes(1'536), "1.50 KiB");
    EXPECT_EQ(formatBytes(4'194'304), "4.00 MiB");
    EXPECT_EQ(formatBytes(-2'048), "-2.00 KiB");
}

} // namespace
} // namespace gd::base
