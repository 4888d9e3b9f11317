// SPDX-License-Identifier: Apache-2.0
// Runs the table of capture rules against a backend and prints one line a case:
//   PASS|FAIL name expected got
// where expected and got are the codes of the case's steps. Exit status 1 when a case fails, 2 on a usage
// error, 77 when the backend is not available.
#include "capture_cases.h"
#include "capture_subject.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

namespace gdt::bench {

namespace {

/// A thread that runs one call at a time, so that a case can use two threads and stay deterministic.
class SecondThread {
public:
    SecondThread()
        : m_thread([this] { loop(); }) { }
    ~SecondThread() {
        {
            std::lock_guard lock(m_mutex);
            m_stop = true;
        }
        m_changed.notify_all();
        m_thread.join();
    }
    int run(const std::function<int()>& call) {
        std::unique_lock lock(m_mutex);
        m_call = &call;
        m_changed.notify_all();
        m_changed.wait(lock, [this] { return m_call == nullptr; });
        return m_result;
    }

private:
    void loop() {
        std::unique_lock lock(m_mutex);
        while (true) {
            m_changed.wait(lock, [this] { return m_stop || m_call != nullptr; });
            if (m_stop)
                return;
            m_result = (*m_call)();
            m_call = nullptr;
            m_changed.notify_all();
        }
    }
    std::mutex m_mutex;
    std::condition_variable m_changed;
    const std::function<int()>* m_call = nullptr;
    int m_result = 0;
    bool m_stop = false;
    std::thread m_thread;
};

using Arguments = std::vector<int>;
using Call = std::function<int(CaptureSubject&, const Arguments&)>;

int objectIndex(const std::string& word) {
    static const std::map<std::string, int> kWords = {{"L", 0}, {"global", 0}, {"thread", 1}, {"relaxed", 2}};
    if (const auto it = kWords.find(word); it != kWords.end())
        return it->second;
    if (word.size() == 2 && std::strchr("bnegxmh", word[0]) != nullptr && word[1] >= '1' && word[1] <= '4')
        return word[1] - '0' + (word[0] == 'n' ? 4 : 0);
    return std::atoi(word.c_str());
}

const std::map<std::string, Call>& calls() {
    using S = CaptureSubject;
    using A = const Arguments&;
    static const std::map<std::string, Call> kCalls = {
        {"begin", [](S& s, A a) { return s.begin(a.at(0), a.at(1)); }},
        {"end", [](S& s, A a) { return s.end(a.at(0), a.at(1)); }},
        {"status", [](S& s, A a) { return s.captureStatus(a.at(0)); }},
        {"mode", [](S& s, A a) { return s.exchangeMode(a.at(0)); }},
        {"launch", [](S& s, A a) { return s.launch(a.at(0)); }},
        {"launch2", [](S& s, A a) { return s.launchOther(a.at(0)); }},
        {"launchv", [](S& s, A a) { return s.launchScaled(a.at(0), a.at(1)); }},
        {"copy", [](S& s, A a) { return s.copyPinned(a.at(0)); }},
        {"copyp", [](S& s, A a) { return s.copyPageable(a.at(0)); }},
        {"fill", [](S& s, A a) { return s.fill(a.at(0)); }},
        {"hostfn", [](S& s, A a) { return s.hostFunction(a.at(0)); }},
        {"hostfnapi", [](S& s, A a) { return s.hostFunctionCallingApi(a.at(0)); }},
        {"hostcode", [](S& s, A) { return s.hostFunctionResult(); }},
        {"record", [](S& s, A a) { return s.record(a.at(0), a.at(1), false); }},
        {"recordx", [](S& s, A a) { return s.record(a.at(0), a.at(1), true); }},
        {"wait", [](S& s, A a) { return s.wait(a.at(0), a.at(1), false); }},
        {"waitx", [](S& s, A a) { return s.wait(a.at(0), a.at(1), true); }},
        {"sync", [](S& s, A a) { return s.synchronize(a.at(0)); }},
        {"query", [](S& s, A a) { return s.query(a.at(0)); }},
        {"devsync", [](S& s, A) { return s.deviceSynchronize(); }},
        {"evsync", [](S& s, A a) { return s.eventSynchronize(a.at(0)); }},
        {"evquery", [](S& s, A a) { return s.eventQuery(a.at(0)); }},
        {"elapsed", [](S& s, A a) { return s.elapsed(a.at(0), a.at(1)); }},
        {"malloc", [](S& s, A a) { return s.allocate(a.at(0)); }},
        {"free", [](S& s, A a) { return s.release(a.at(0)); }},
        {"hostalloc", [](S& s, A a) { return s.allocateHost(a.at(0)); }},
        {"hostfree", [](S& s, A a) { return s.releaseHost(a.at(0)); }},
        {"amalloc", [](S& s, A a) { return s.allocateAsync(a.at(0), a.at(1)); }},
        {"afree", [](S& s, A a) { return s.releaseAsync(a.at(0), a.at(1)); }},
        {"memcpy", [](S& s, A) { return s.copySync(); }},
        {"memcpyback", [](S& s, A) { return s.copyBackSync(); }},
        {"memset", [](S& s, A) { return s.fillSync(); }},
        {"meminfo", [](S& s, A) { return s.memoryInfo(); }},
        {"mkstream", [](S& s, A a) { return s.createStream(a.at(0)); }},
        {"rmstream", [](S& s, A a) { return s.destroyStream(a.at(0)); }},
        {"mkevent", [](S& s, A a) { return s.createEvent(a.at(0)); }},
        {"rmevent", [](S& s, A a) { return s.destroyEvent(a.at(0)); }},
        {"inst", [](S& s, A a) { return s.instantiate(a.at(0), a.at(1)); }},
        {"replay", [](S& s, A a) { return s.replay(a.at(0), a.at(1)); }},
        {"update", [](S& s, A a) { return s.update(a.at(0), a.at(1)); }},
        {"why", [](S& s, A) { return s.updateResult(); }},
        {"rmexec", [](S& s, A a) { return s.destroyExec(a.at(0)); }},
        {"rmgraph", [](S& s, A a) { return s.destroyGraph(a.at(0)); }},
        {"nodes", [](S& s, A a) { return s.nodeCount(a.at(0)); }},
        {"counter", [](S& s, A) { return s.counter(); }},
    };
    return kCalls;
}

struct Step {
    bool second = false;
    std::string text;
    Call call;
    Arguments arguments;
    int expected = 0;
};

std::vector<Step> parse(const CaptureCase& item) {
    std::vector<Step> steps;
    std::istringstream script(item.script);
    for (std::string part; std::getline(script, part, ';');) {
        std::istringstream words(part);
        Step step;
        std::string word;
        words >> word;
        if (word == "2:") {
            step.second = true;
            words >> word;
        }
        const auto call = calls().find(word);
        if (call == calls().end()) {
            std::fprintf(stderr, "case %s: unknown step '%s'\n", item.name.c_str(), part.c_str());
            std::exit(2);
        }
        step.call = call->second;
        step.text = word;
        while (words >> word && word != "=")
            step.arguments.push_back(objectIndex(word));
        words >> step.expected;
        steps.push_back(std::move(step));
    }
    return steps;
}

bool runCase(const CaptureCase& item, CaptureSubject& subject) {
    SecondThread second;
    std::string expected;
    std::string got;
    bool pass = true;
    for (const Step& step : parse(item)) {
        const std::function<int()> call = [&] { return step.call(subject, step.arguments); };
        const int code = step.second ? second.run(call) : call();
        const char* separator = expected.empty() ? "" : ",";
        expected += separator + std::to_string(step.expected);
        got += separator + std::to_string(code);
        pass = pass && code == step.expected;
    }
    std::printf("%s %s %s %s\n", pass ? "PASS" : "FAIL", item.name.c_str(), expected.c_str(), got.c_str());
    if (!pass)
        std::printf("     %s\n", item.script.c_str());
    std::fflush(stdout);
    return pass;
}

int usage() {
    std::fprintf(stderr, "usage: capture_conformance [--backend host|cuda] [--case PREFIX]\n");
    return 2;
}

int runAll(const std::string& backend, const std::string& prefix) {
    std::size_t passed = 0;
    std::size_t failed = 0;
    for (const CaptureCase& item : captureCases()) {
        if (item.name.compare(0, prefix.size(), prefix) != 0)
            continue;
        std::string why;
        const std::unique_ptr<CaptureSubject> subject
            = backend == "host" ? makeHostSubject() : makeCudaSubject(why);
        if (subject == nullptr) {
            std::printf("SKIP backend %s: %s\n", backend.c_str(), why.c_str());
            return 77;
        }
        (runCase(item, *subject) ? passed : failed) += 1;
    }
    std::printf("%zu passed, %zu failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}

} // namespace

} // namespace gdt::bench

int main(int argc, char** argv) {
    std::string backend = "host";
    std::string prefix;
    for (int i = 1; i < argc; i += 2) {
        const std::string option = argv[i];
        if (i + 1 >= argc)
            return gdt::bench::usage();
        if (option == "--backend")
            backend = argv[i + 1];
        else if (option == "--case")
            prefix = argv[i + 1];
        else
            return gdt::bench::usage();
    }
    if (backend != "host" && backend != "cuda")
        return gdt::bench::usage();
    return gdt::bench::runAll(backend, prefix);
}
