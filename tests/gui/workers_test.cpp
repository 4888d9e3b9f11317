// SPDX-License-Identifier: Apache-2.0
#include "gui/model/mailbox.h"
#include "gui/model/workers.h"

#include <QCoreApplication>
#include <QElapsedTimer>

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>

using namespace gd::gui;

TEST(Workers, OneThreadRunsJobsInOrder) {
    std::vector<int> order;
    Workers workers(1);
    for (int i = 0; i < 100; ++i)
        workers.start([&order, i] { order.push_back(i); });
    workers.waitForDone();
    std::vector<int> wanted(100);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(order, wanted);
}

TEST(Workers, WhatHasNotBegunIsDroppedAtTheEnd) {
    std::atomic<int> ran = 0;
    std::atomic<bool> go = false;
    {
        Workers workers(2);
        for (int i = 0; i < 2; ++i) {
            workers.start([&] {
                ++ran;
                while (!go)
                    std::this_thread::yield();
            });
        }
        while (ran < 2)
            std::this_thread::yield();
        for (int i = 0; i < 50; ++i)
            workers.start([&] { ++ran; });
        workers.clear();
        go = true;
    }
    EXPECT_EQ(ran, 2);
}

TEST(Mailbox, LettersComeInOrderAndTheLoopHasItsTurnBetweenThem) {
    int argc = 0;
    const QCoreApplication application(argc, nullptr);
    Mailbox mail;
    std::vector<int> got;
    Workers workers(1);
    workers.start([&] {
        for (int i = 0; i < 40; ++i) {
            mail.post([&got, i] {
                got.push_back(i);
                std::this_thread::sleep_for(std::chrono::milliseconds(1)); // work of the receiver
            });
        }
    });
    workers.waitForDone();
    QElapsedTimer whole;
    whole.start();
    std::size_t most = 0; // letters in one turn
    while (got.size() < 40 && whole.elapsed() < 60'000) {
        const std::size_t before = got.size();
        QCoreApplication::processEvents();
        most = std::max(most, got.size() - before);
    }
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
    EXPECT_EQ(got.size(), 40U);
    EXPECT_LT(most, 40U);
}

TEST(Mailbox, ALetterMayEndIt) {
    int argc = 0;
    const QCoreApplication application(argc, nullptr);
    auto mail = std::make_unique<Mailbox>();
    int got = 0;
    mail->post([&] {
        ++got;
        mail.reset();
    });
    mail->post([&] { ++got; });
    QCoreApplication::processEvents();
    EXPECT_EQ(got, 1);
    EXPECT_EQ(mail, nullptr);
}
