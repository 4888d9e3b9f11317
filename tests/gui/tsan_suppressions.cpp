// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer cannot know of Qt: its libraries are not built with it, and their locks are no pthread
// mutexes. So what they allocate, copy and free under these locks (queues of events, their own thread pool)
// looks unguarded. Our own threads meet in Workers and Mailbox, which it sees.
#if defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
    return "called_from_lib:libQt6Core.so\n"
           "called_from_lib:libQt6Gui.so\n"
           "called_from_lib:libQt6Widgets.so\n"
           "called_from_lib:libglib-2.0.so\n"
           // An event that a worker posted, looked at by an event filter.
           "race:QEvent::type\n";
}
#endif
