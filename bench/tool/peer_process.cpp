// A peer library in processes of its own: started once, asked in turn, given up when it dies.
#include "bench/tool/peer_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <thread>

#include "rondo/error.hpp"

extern char** environ;

namespace rondo::bench {
namespace {

using PeerClock = std::chrono::steady_clock;
constexpr std::chrono::seconds longest_start{60};
constexpr std::chrono::seconds longest_answer{120};

PeerOperation peer_operation(Operation operation) {
    switch (operation) {
        case Operation::all_reduce:
        case Operation::batch_reduce:
            return PeerOperation::all_reduce;
        case Operation::reduce:
            return PeerOperation::reduce;
        case Operation::broadcast:
            return PeerOperation::broadcast;
        case Operation::reduce_scatter:
            return PeerOperation::reduce_scatter;
        case Operation::all_gather:
            return PeerOperation::all_gather;
        case Operation::all_to_all:
            return PeerOperation::all_to_all;
        case Operation::gather:
            return PeerOperation::gather;
        case Operation::scatter:
            return PeerOperation::scatter;
        case Operation::sendrecv:
            return PeerOperation::sendrecv;
    }
    return PeerOperation::quit;
}

PeerType peer_type(ElementType type) {
    switch (type) {
        case ElementType::f32:
            return PeerType::f32;
        case ElementType::f64:
            return PeerType::f64;
        case ElementType::i8:
            return PeerType::i8;
        case ElementType::u8:
            return PeerType::u8;
        case ElementType::i32:
            return PeerType::i32;
        case ElementType::u32:
            return PeerType::u32;
        case ElementType::i64:
            return PeerType::i64;
        case ElementType::u64:
            return PeerType::u64;
        default:
            throw Unsupported(fmt::format("it has no element type {}", to_string(type)));
    }
}

PeerReduction peer_reduction(ReduceOp op) {
    switch (op) {
        case ReduceOp::sum:
            return PeerReduction::sum;
        case ReduceOp::prod:
            return PeerReduction::prod;
        case ReduceOp::min:
            return PeerReduction::min;
        case ReduceOp::max:
            return PeerReduction::max;
        default:
            throw Unsupported(fmt::format("it has no operator {}", to_string(op)));
    }
}

std::string ending_text(int status) {
    if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
    return fmt::format("ended with code {}", WEXITSTATUS(status));
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

}  // namespace

/// A file in memory that the ranks map too, in a folder of its own.
class PeerProcess::SharedPage {
public:
    SharedPage() {
        const bool memory = std::filesystem::is_directory("/dev/shm");
        folder_ = (memory ? "/dev/shm" : std::filesystem::temp_directory_path().string()) +
                  "/rondo-bench-XXXXXX";
        if (mkdtemp(folder_.data()) == nullptr) throw Error(folder_ + " can't be made");
        const int file = open(path().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        void* memory_page = MAP_FAILED;
        if (file >= 0 && ftruncate(file, sizeof(PeerPage)) == 0) {
            memory_page =
                mmap(nullptr, sizeof(PeerPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        }
        if (file >= 0) close(file);
        if (memory_page == MAP_FAILED) {
            std::filesystem::remove_all(folder_);
            throw Error(path() + " can't be made");
        }
        page_ = new (memory_page) PeerPage{};
        page_->owner = getpid();
    }
    ~SharedPage() {
        munmap(page_, sizeof(PeerPage));
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    SharedPage(const SharedPage&) = delete;
    SharedPage& operator=(const SharedPage&) = delete;

    PeerPage& operator*() const { return *page_; }
    PeerPage* operator->() const { return page_; }
    std::string path() const { return folder_ + "/page"; }
    const std::string& folder() const { return folder_; }

private:
    std::string folder_;
    PeerPage* page_ = nullptr;
};

PeerProcess::PeerProcess(const PeerCommand& command, int ranks)
    : command_(command), ranks_(ranks), page_(std::make_unique<SharedPage>()) {
    (*page_)->ranks = static_cast<std::uint32_t>(ranks);
    try {
        start();
        wait_until_ready();
    } catch (...) {
        stop();
        throw;
    }
}

PeerProcess::~PeerProcess() {
    stop();
}

void PeerProcess::start() {
    std::vector<std::string> words;
    for (const std::string& word : command_.arguments) {
        words.push_back(
            replaced(replaced(word, "{page}", page_->path()), "{folder}", page_->folder()));
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // one group, to end it as one
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    // What the peer prints must not get into the table.
    posix_spawn_file_actions_addopen(&files, 1, (page_->folder() + "/output").c_str(),
                                     O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int error =
        posix_spawnp(&process_, arguments[0], &files, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) {
        process_ = -1;
        throw Error(fmt::format("{} can't be started: {}", words[0], std::strerror(error)));
    }
}

void PeerProcess::wait_until_ready() {
    const auto deadline = PeerClock::now() + longest_start;
    PeerPage& page = **page_;
    const auto all = static_cast<std::uint32_t>(ranks_);
    for (std::uint32_t ready = page.ready; ready < all; ready = page.ready) {
        require_alive("starting");
        if (PeerClock::now() > deadline) {
            throw Error(fmt::format("{} of {} ranks came within {} s", ready, ranks_,
                                    longest_start.count()));
        }
        futex_wait(page.ready, ready, 50);
    }
}

std::string PeerProcess::version() const {
    return (*page_)->version;
}

void PeerProcess::require_alive(const std::string& doing) {
    int status = 0;
    if (!end_ && process_ > 0 && waitpid(process_, &status, WNOHANG) == process_) {
        end_ = ending_text(status);
    }
    if (end_) throw Error(fmt::format("it {} while {}", *end_, doing));
}

void PeerProcess::begin(const Case& test) {
    request_ = {
        .operation = peer_operation(test.operation),
        .type = peer_type(test.type),
        .reduction = has_operator(test.operation) ? peer_reduction(test.op) : PeerReduction::sum,
        .root = static_cast<std::uint32_t>(test.root),
        .count = test.shape.count,
        .in_place = test.in_place ? 1u : 0u};
}

double PeerProcess::run(int warm_up, int iterations) {
    const std::string doing = fmt::format("it worked on {} elements", request_.count);
    require_alive(doing);
    PeerPage& page = **page_;
    request_.warm_up = static_cast<std::uint32_t>(warm_up);
    request_.iterations = static_cast<std::uint32_t>(iterations);
    page.request = request_;
    const std::uint32_t number = page.request_number.fetch_add(1, std::memory_order_release) + 1;
    futex_wake_all(page.request_number);
    if (++requests_ == command_.kill_at_request) kill(page.processes[ranks_ - 1], SIGKILL);
    const auto deadline = PeerClock::now() + longest_answer;
    for (std::uint32_t seen = page.answer_number; seen != number; seen = page.answer_number) {
        require_alive(doing);
        if (PeerClock::now() > deadline) {
            stop();
            throw Error(fmt::format("it did not answer within {} s", longest_answer.count()));
        }
        futex_wait(page.answer_number, seen, 50);
    }
    if (page.problem[0] != '\0') throw Unsupported(std::string(page.problem));
    return page.seconds;
}

void PeerProcess::stop() noexcept {
    if (process_ <= 0) return;
    PeerPage& page = **page_;
    page.request = {};
    page.request_number.fetch_add(1, std::memory_order_release);
    futex_wake_all(page.request_number);
    // Politely first; then the whole group that it started.
    int status = 0;
    for (int i = 0; i < 200 && !end_; ++i) {
        if (waitpid(process_, &status, WNOHANG) == process_) end_ = "ended";
        if (!end_) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(-process_, SIGKILL);
    for (int rank = 0; rank < ranks_ && !end_; ++rank) {
        if (page.processes[rank] > 0) kill(page.processes[rank], SIGKILL);
    }
    if (!end_) waitpid(process_, &status, 0);
    end_ = "was ended";
    process_ = -1;
}

}  // namespace rondo::bench
