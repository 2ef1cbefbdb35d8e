// What happened to a population: who was how good, who copied whom, and with which settings it went
// on. Enough to run the life of a member again.
//
//     EvolutionLog log = *report.evolution;
//     std::vector<float> same = replay_member(model, data, log, log.best, options);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/export.hpp"
#include "rondo/training/strategy.hpp"

namespace rondo::training {

class Graph;
class Model;
class DataSource;
struct TrainingOptions;

/// One member in one generation.
struct MemberRecord {
    std::vector<double> settings = {};  ///< it trained with, in the order of the hyperparameters
    double score = 0;                   ///< the loss after the generation; less is better
    double accuracy = 0;
    std::uint32_t parent = 0;  ///< whose parameters it has afterwards: itself, or whom it copied
    bool operator==(const MemberRecord&) const = default;
};

struct EvolutionLog {
    std::vector<std::string> hyperparameters = {};
    std::vector<std::vector<MemberRecord>> generations = {};  ///< [generation][member]
    std::uint32_t best = 0;                                   ///< member of the last generation

    bool operator==(const EvolutionLog&) const = default;
};

/// Which member of each generation became `member` of the last one.
RONDO_API std::vector<std::uint32_t> lineage(const EvolutionLog& log, std::uint32_t member);

RONDO_API std::string to_json(const EvolutionLog& log);
/// Throws InvalidArgument that names the path.
RONDO_API EvolutionLog evolution_log_from_json(std::string_view text);

/// Trains one model along the lineage of `member`, with the settings of the log: its parameters
/// come out bit by bit. Data and options must be those of the run.
RONDO_API std::vector<float> replay_member(const Graph& graph, const DataSource& data,
                                           const EvolutionLog& log, std::uint32_t member,
                                           const TrainingOptions& options);
RONDO_API std::vector<float> replay_member(const Model& model, const DataSource& data,
                                           const EvolutionLog& log, std::uint32_t member,
                                           const TrainingOptions& options);

}  // namespace rondo::training
