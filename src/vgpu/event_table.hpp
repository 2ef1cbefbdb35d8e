// All events by handle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "vgpu/stream.hpp"

namespace vgpu {

/// A handle may be anything that a program passes, so it is looked up and never followed. What was
/// found lately is found without hashing.
class EventTable {
public:
    using Map = std::unordered_map<Event*, std::shared_ptr<Event>>;

    void add(std::shared_ptr<Event> event) {
        Event* const handle = event.get();
        all_.emplace(handle, std::move(event));
    }

    /// Null when there is no such event.
    const std::shared_ptr<Event>* find(Event* handle) {
        const std::shared_ptr<Event>*& lately = lately_[place_of(handle)];
        if (lately != nullptr && lately->get() == handle) return lately;
        const auto found = all_.find(handle);
        if (found == all_.end()) return nullptr;
        lately = &found->second;
        return lately;
    }

    void erase(Event* handle) {
        lately_[place_of(handle)] = nullptr;
        all_.erase(handle);
    }
    void erase_those_of(int device) {
        lately_.fill(nullptr);
        std::erase_if(all_, [device](const auto& entry) { return entry.second->device == device; });
    }

    Map::const_iterator begin() const { return all_.begin(); }
    Map::const_iterator end() const { return all_.end(); }
    std::size_t size() const { return all_.size(); }

private:
    static constexpr std::size_t places = 64;

    static std::size_t place_of(const Event* handle) {
        const auto address = reinterpret_cast<std::uintptr_t>(handle);
        return (address >> 4 ^ address >> 10) % places;
    }

    Map all_;
    std::array<const std::shared_ptr<Event>*, places> lately_{};
};

}  // namespace vgpu
