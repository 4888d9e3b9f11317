// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/replay_streams.h"

#include "collector/cupti/driver_api.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <utility>

namespace gd::cupti {

namespace {

template <class Handle> Handle handle(std::uint64_t value) {
    return reinterpret_cast<Handle>(value);
}

const CUcontext kContext = handle<CUcontext>(0x100);
const CUcontext kOther = handle<CUcontext>(0x200);
const CUstream kStream = handle<CUstream>(0x1000);
const CUstream kSecond = handle<CUstream>(0x2000);

struct Made {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL; ///< of the thread
    bool askedInGlobalMode = false; ///< ends a capture in the global mode of another thread
    std::map<CUstream, CUresult> query; ///< success where absent
    std::map<CUstream, CUstreamCaptureStatus> capture;
    int queries = 0;
    int exchanges = 0;
};
Made g_made;

CallArguments on(CUstream stream, DefaultStream defaults = DefaultStream::Legacy) {
    CallArguments arguments;
    arguments.namesStream = true;
    arguments.stream = stream;
    arguments.defaultStream = defaults;
    return arguments;
}

class ReplayStreamsTest : public testing::Test {
protected:
    void SetUp() override {
        g_made = {};
        DriverApi api;
        api.streamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) {
            *status
                = g_made.capture.contains(stream) ? g_made.capture[stream] : CU_STREAM_CAPTURE_STATUS_NONE;
            return CUDA_SUCCESS;
        };
        api.streamQuery = [](CUstream stream) {
            ++g_made.queries;
            g_made.askedInGlobalMode
                = g_made.askedInGlobalMode || g_made.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
            return g_made.query.contains(stream) ? g_made.query[stream] : CUDA_SUCCESS;
        };
        api.threadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
            ++g_made.exchanges;
            std::swap(*mode, g_made.mode);
            return CUDA_SUCCESS;
        };
        setDriverApi(api);
    }
    void TearDown() override {
        setDriverApi({});
        EXPECT_FALSE(g_made.askedInGlobalMode);
        EXPECT_EQ(g_made.mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "the thread's capture mode is put back";
    }

    void launch(
        CUstream stream, CUcontext context = kContext, DefaultStream defaults = DefaultStream::Legacy) {
        m_streams.launching(m_calls, on(stream, defaults), context);
        EXPECT_EQ(m_streams.underWay(), 1);
        m_streams.launchEnded(m_calls);
        EXPECT_EQ(m_streams.underWay(), 0);
    }

    ThreadCalls m_calls;
    ReplayStreams m_streams;
};

TEST_F(ReplayStreamsTest, IsIdleWhenEveryStreamIs) {
    EXPECT_TRUE(m_streams.isIdle(kContext)) << "nothing was launched";
    launch(kStream);
    launch(kSecond);
    launch(kStream);
    g_made.query[kSecond] = CUDA_ERROR_NOT_READY;
    EXPECT_FALSE(m_streams.isIdle(kContext));
    g_made.query.clear();
    EXPECT_TRUE(m_streams.isIdle(kContext));
    EXPECT_EQ(m_streams.launches(), 3U);
    EXPECT_GT(g_made.exchanges, 0);
}

TEST_F(ReplayStreamsTest, AStreamThatIsBeingCapturedIsNotAsked) {
    launch(kStream);
    for (const auto status : {CU_STREAM_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_INVALIDATED}) {
        g_made.capture[kStream] = status;
        EXPECT_FALSE(m_streams.isIdle(kContext));
    }
    EXPECT_EQ(g_made.queries, 0) << "asking would end the capture";
}

TEST_F(ReplayStreamsTest, DefaultStreamsCanBeAskedInTheirOwnContextAndThreadOnly) {
    launch(nullptr);
    EXPECT_TRUE(m_streams.isIdle(kContext));
    EXPECT_FALSE(m_streams.isIdle(kOther));
    m_streams.clear();
    launch(nullptr, kContext, DefaultStream::PerThread);
    EXPECT_TRUE(m_streams.isIdle(kContext));
    bool elsewhere = true;
    std::thread([&] { elsewhere = m_streams.isIdle(kContext); }).join();
    EXPECT_FALSE(elsewhere);
}

TEST_F(ReplayStreamsTest, AnEndedStreamIsAskedNoMoreAndCountsAsBusyWhenItHadWork) {
    launch(kStream);
    launch(kSecond);
    m_streams.streamEnds(kStream, kContext);
    g_made.queries = 0;
    EXPECT_TRUE(m_streams.isIdle(kContext));
    EXPECT_EQ(g_made.queries, 1);
    g_made.query[kSecond] = CUDA_ERROR_NOT_READY;
    m_streams.streamEnds(kSecond, kContext);
    g_made.queries = 0;
    EXPECT_FALSE(m_streams.isIdle(kContext));
    EXPECT_EQ(g_made.queries, 0);
}

TEST_F(ReplayStreamsTest, AnEndedStreamIsAskedNoMoreWhicheverContextsWereCurrent) {
    const CUcontext third = handle<CUcontext>(0x300);
    launch(kStream, kContext);
    launch(kStream, kOther);
    launch(kStream, third);
    m_streams.streamEnds(kStream, kContext);
    m_streams.streamDestroyed(kStream);
    g_made.queries = 0;
    EXPECT_TRUE(m_streams.isIdle(kContext));
    EXPECT_EQ(g_made.queries, 0) << "its handle may be anything by now";
}

TEST_F(ReplayStreamsTest, TheSameHandleAfterADestroyIsANewStream) {
    launch(kStream);
    m_streams.streamDestroyed(kStream);
    g_made.query[kStream] = CUDA_ERROR_NOT_READY;
    EXPECT_TRUE(m_streams.isIdle(kContext));
    launch(kStream);
    EXPECT_FALSE(m_streams.isIdle(kContext));
}

TEST_F(ReplayStreamsTest, ALaunchWhoseExitIsLostIsCountedOnce) {
    m_streams.launching(m_calls, on(kStream), kContext);
    m_streams.launching(m_calls, on(kStream), kContext);
    EXPECT_EQ(m_streams.underWay(), 1);
    m_streams.launchEnded(m_calls);
    m_streams.launchEnded(m_calls);
    EXPECT_EQ(m_streams.underWay(), 0);
}

TEST_F(ReplayStreamsTest, ClearedStreamsCountAgainAtTheirNextLaunch) {
    launch(kStream);
    m_streams.clear();
    g_made.query[kStream] = CUDA_ERROR_NOT_READY;
    EXPECT_TRUE(m_streams.isIdle(kContext));
    launch(kStream);
    EXPECT_FALSE(m_streams.isIdle(kContext));
}

TEST_F(ReplayStreamsTest, MoreStreamsThanItKeepsAreNeverIdle) {
    for (std::uint64_t i = 1; i <= 200; ++i) {
        launch(handle<CUstream>(i << 12));
    }
    EXPECT_FALSE(m_streams.isIdle(kContext));
}

TEST_F(ReplayStreamsTest, ADriverThatCannotBeAskedIsNeverIdleOnceAReplayWasLaunched) {
    setDriverApi({});
    launch(kStream);
    EXPECT_FALSE(m_streams.isIdle(kContext));
}

} // namespace
} // namespace gd::cupti
