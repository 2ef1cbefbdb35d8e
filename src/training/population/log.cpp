// The evolution log: lineages and JSON.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "rondo/training/evolution.hpp"
#include "training/strategy/json_fields.hpp"

namespace rondo::training {
namespace {

/// JSON has no infinity: a score of a member that was lost is null.
OrderedJson score_json(double score) {
    return std::isfinite(score) ? OrderedJson(score) : OrderedJson(nullptr);
}

MemberRecord read_member(JsonFields fields) {
    MemberRecord record{.settings = fields.numbers("settings"),
                        .accuracy = fields.number("accuracy"),
                        .parent = fields.small_number("parent")};
    record.score = fields.any("score").is_null() ? std::numeric_limits<double>::infinity()
                                                 : fields.number("score");
    fields.finish();
    return record;
}

void check_log(const EvolutionLog& log) {
    for (std::size_t g = 0; g < log.generations.size(); ++g) {
        const auto& members = log.generations[g];
        if (members.empty() || members.size() != log.generations[0].size()) {
            throw InvalidArgument(fmt::format("/generations/{} has {} members", g, members.size()));
        }
        for (std::size_t m = 0; m < members.size(); ++m) {
            if (members[m].parent >= members.size() ||
                members[m].settings.size() != log.hyperparameters.size()) {
                throw InvalidArgument(fmt::format(
                    "/generations/{}/{} has parent {} and {} settings; there are {} members and {} "
                    "hyperparameters",
                    g, m, members[m].parent, members[m].settings.size(), members.size(),
                    log.hyperparameters.size()));
            }
        }
    }
    if (!log.generations.empty() && log.best >= log.generations[0].size()) {
        throw InvalidArgument(fmt::format("/best is {}; there is no such member", log.best));
    }
}

}  // namespace

std::vector<std::uint32_t> lineage(const EvolutionLog& log, std::uint32_t member) {
    check_log(log);
    if (log.generations.empty() || member >= log.generations[0].size()) {
        throw InvalidArgument(fmt::format("the log has no member {}", member));
    }
    std::vector<std::uint32_t> line(log.generations.size());
    for (std::size_t g = log.generations.size(); g-- > 0;) {
        line[g] = member;
        if (g > 0) member = log.generations[g - 1][member].parent;
    }
    return line;
}

std::string to_json(const EvolutionLog& log) {
    OrderedJson json{{"hyperparameters", log.hyperparameters},
                     {"best", log.best},
                     {"generations", OrderedJson::array()}};
    for (const auto& members : log.generations) {
        OrderedJson generation = OrderedJson::array();
        for (const MemberRecord& record : members) {
            generation.push_back({{"settings", record.settings},
                                  {"score", score_json(record.score)},
                                  {"accuracy", record.accuracy},
                                  {"parent", record.parent}});
        }
        json["generations"].push_back({{"members", std::move(generation)}});
    }
    return json.dump(1);
}

EvolutionLog evolution_log_from_json(std::string_view text) {
    const OrderedJson json = parse_bounded_json(text);
    JsonFields fields(json, "");
    EvolutionLog log{.hyperparameters = fields.texts("hyperparameters"),
                     .best = fields.small_number("best")};
    for (JsonFields& generation : fields.objects("generations")) {
        auto& members = log.generations.emplace_back();
        for (const JsonFields& member : generation.objects("members")) {
            members.push_back(read_member(member));
        }
        generation.finish();
    }
    fields.finish();
    check_log(log);
    return log;
}

}  // namespace rondo::training
