// A peer library in processes of its own: started once, asked in turn, given up when it dies.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/peers/protocol.hpp"
#include "bench/tool/contestant.hpp"

namespace rondo::bench {

struct PeerCommand {
    std::string name;  ///< "openmpi"
    /// The program first; {page} and {folder} are replaced.
    std::vector<std::string> arguments = {};
    /// The rank that is killed when the peer gets its k-th request; 0: none. For tests.
    int kill_at_request = 0;
};

/// How to start a peer by name ("openmpi", "mpich", "gloo") with so many ranks. Throws Unsupported
/// that tells what is missing and how to install it.
PeerCommand peer_command(const std::string& name, int ranks);

class PeerProcess final : public Contestant {
public:
    /// Starts it and waits until all ranks have joined. Throws rondo::Error.
    PeerProcess(const PeerCommand& command, int ranks);
    ~PeerProcess() override;

    std::string name() const override { return command_.name; }
    /// What the library calls itself.
    std::string version() const;
    void begin(const Case& test) override;
    double run(int warm_up, int iterations) override;

private:
    class SharedPage;

    void start();
    void wait_until_ready();
    /// Throws when the peer has ended; `doing` tells what it was asked.
    void require_alive(const std::string& doing);
    void stop() noexcept;

    PeerCommand command_;
    int ranks_;
    std::unique_ptr<SharedPage> page_;
    pid_t process_ = -1;
    std::optional<std::string> end_;  ///< how the process ended, once it has
    PeerRequest request_ = {};
    int requests_ = 0;
};

}  // namespace rondo::bench
