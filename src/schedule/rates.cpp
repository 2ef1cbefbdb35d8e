#include "schedule/rates.hpp"

#include <fmt/format.h>

namespace rondo {
namespace {

struct Rate {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
};

std::string compare(const std::vector<Rate>& rates, const char* what, const char* sent,
                    const char* received) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (rates[i].sent != rates[i].received) {
            return fmt::format("{} {} is {} {} times per chunk, but {} {} times", what, i, sent,
                               rates[i].sent, received, rates[i].received);
        }
    }
    return {};
}

}  // namespace

std::vector<std::uint32_t> pushes_per_chunk(const Schedule& schedule) {
    std::vector<std::uint32_t> pushes(schedule.channels.size());
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            for (const Operand& operand : step.destinations) {
                if (operand.kind == Operand::Kind::channel) ++pushes[operand.index];
            }
        }
    }
    return pushes;
}

std::string find_uneven_rate(const Schedule& schedule) {
    std::vector<Rate> channels(schedule.channels.size());
    std::vector<Rate> events(schedule.events.size());
    const auto count = [&](const std::vector<Operand>& operands, std::uint32_t Rate::*end) {
        for (const Operand& operand : operands) {
            if (operand.kind == Operand::Kind::channel) {
                ++(channels[operand.index].*end);
            }
        }
    };
    for (const Lane& lane : schedule.lanes) {
        for (const Step& step : lane.steps) {
            count(step.sources, &Rate::received);
            count(step.destinations, &Rate::sent);
            for (const std::uint32_t event : step.signals) ++events[event].sent;
            for (const std::uint32_t event : step.waits) ++events[event].received;
        }
    }
    const std::string uneven = compare(channels, "channel", "pushed", "popped");
    return !uneven.empty() ? uneven : compare(events, "event", "signalled", "waited for");
}

}  // namespace rondo
