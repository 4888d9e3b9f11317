// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gd::gui {

// Threads that run jobs in the order in which they were started. Threads begin with the first job. Jobs hand
// their results over through a Mailbox. Made of the standard library's locks, which ThreadSanitizer sees;
// those of QThreadPool it does not.
class Workers {
public:
    explicit Workers(std::size_t threads)
        : m_most(threads) { }
    ~Workers(); // drops what has not begun, waits for the rest
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    void start(std::function<void()> job);
    void clear(); // drops what has not begun
    void waitForDone(); // until nothing is left
    // As many as the processor has cores.
    static std::size_t cores();

private:
    void run();

    std::size_t m_most;
    std::mutex m_mutex;
    std::condition_variable m_wake; // a job came, or the end
    std::condition_variable m_idle; // a job ended
    std::deque<std::function<void()>> m_jobs;
    std::size_t m_running = 0;
    bool m_end = false;
    std::vector<std::thread> m_threads;
};

} // namespace gd::gui
