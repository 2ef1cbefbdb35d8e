// What is known about a machine, and who said so.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rondo {

enum class FactSource {
    cuda,
    nvml,
    sysfs,
    hwloc,
    estimate,  ///< nobody said; NCCL's rule
    self_test,
};

std::string to_string(FactSource source);

struct Fact {
    std::string subject;  ///< a node ("gpu0") or a link ("gpu0 - gpu1")
    std::string what;     ///< "bus id", "NVLinks", ...
    std::string value;
    FactSource source = FactSource::estimate;

    bool operator==(const Fact&) const = default;
};

/// Facts and warnings in the order in which they are found.
class FactLog {
public:
    void add(std::string subject, std::string what, std::string value, FactSource source) {
        facts_.push_back({std::move(subject), std::move(what), std::move(value), source});
    }
    void warn(std::string text) { warnings_.push_back(std::move(text)); }

    const std::vector<Fact>& facts() const { return facts_; }
    const std::vector<std::string>& warnings() const { return warnings_; }

private:
    std::vector<Fact> facts_;
    std::vector<std::string> warnings_;
};

}  // namespace rondo
