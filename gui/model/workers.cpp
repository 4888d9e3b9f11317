// SPDX-License-Identifier: Apache-2.0
#include "gui/model/workers.h"

#include <algorithm>

namespace gd::gui {

Workers::~Workers() {
    {
        const std::lock_guard lock(m_mutex);
        m_jobs.clear();
        m_end = true;
    }
    m_wake.notify_all();
    for (std::thread& thread : m_threads)
        thread.join();
}

std::size_t Workers::cores() {
    return std::max(1U, std::thread::hardware_concurrency());
}

void Workers::start(std::function<void()> job) {
    {
        const std::lock_guard lock(m_mutex);
        m_jobs.push_back(std::move(job));
        if (m_threads.size() < m_most && m_jobs.size() + m_running > m_threads.size())
            m_threads.emplace_back([this] { run(); });
    }
    m_wake.notify_one();
}

void Workers::clear() {
    std::deque<std::function<void()>> dropped; // what they hold is freed outside the lock
    const std::lock_guard lock(m_mutex);
    dropped.swap(m_jobs);
}

void Workers::waitForDone() {
    std::unique_lock lock(m_mutex);
    m_idle.wait(lock, [this] { return m_jobs.empty() && m_running == 0; });
}

void Workers::run() {
    std::unique_lock lock(m_mutex);
    while (true) {
        m_wake.wait(lock, [this] { return m_end || !m_jobs.empty(); });
        if (m_jobs.empty())
            return;
        {
            const std::function<void()> job = std::move(m_jobs.front());
            m_jobs.pop_front();
            ++m_running;
            lock.unlock();
            job();
        }
        lock.lock();
        --m_running;
        m_idle.notify_all();
    }
}

} // namespace gd::gui
