// Schedules in JSON: any bytes are read or refused; what is read can be written, read again and
// judged.
#include <string_view>

#include "rondo/schedule.hpp"
#include "tests/fuzz/require.hpp"

namespace {

/// verify() takes time that grows with these; what a fuzzer makes up must not take minutes.
bool is_small(const rondo::Schedule& schedule) {
    std::size_t steps = 0, depth = 0;
    for (const rondo::Lane& lane : schedule.lanes) steps += lane.steps.size();
    for (const rondo::Channel& channel : schedule.channels) depth += channel.depth;
    return schedule.ranks <= 16 && schedule.unit_shares.size() <= 64 && steps <= 200 && depth <= 64;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rondo;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const Schedule schedule = schedule_from_json(text);
        const std::string written = to_json(schedule);
        const Schedule again = schedule_from_json(written);
        fuzz::require(again == schedule, "JSON keeps every value");
        fuzz::require(to_json(again) == written, "the written form is stable");
        fuzz::require(!to_string(schedule).empty(), "every schedule can be printed");
        if (is_small(schedule)) {
            verify(schedule);
        }
    } catch (const Error& error) {
        fuzz::require(*error.what() != '\0', "errors say something");
    }
    return 0;
}
