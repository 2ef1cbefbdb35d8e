// What the communicator says of a case before it runs: strategy, predicted time, reason.
#include "bench/tool/explain.hpp"

#include <optional>

namespace rondo::bench {
namespace {

/// The library's word for it; none for calls that have no strategy.
std::optional<Collective> collective_of(Operation operation) {
    switch (operation) {
        case Operation::all_reduce:
        case Operation::batch_reduce:
            return Collective::all_reduce;
        case Operation::reduce:
            return Collective::reduce;
        case Operation::broadcast:
            return Collective::broadcast;
        case Operation::reduce_scatter:
            return Collective::reduce_scatter;
        case Operation::all_gather:
            return Collective::all_gather;
        case Operation::all_to_all:
            return Collective::all_to_all;
        case Operation::gather:
            return Collective::gather;
        case Operation::scatter:
            return Collective::scatter;
        case Operation::sendrecv:
            break;
    }
    return {};
}

std::uint64_t whole_count(const Case& test) {
    return test.shape.count *
           static_cast<std::uint64_t>(has_parts(test.operation) ? test.ranks : 1);
}

}  // namespace

ExplainedCase explain_case(const Communicator& communicator, const Case& test,
                           const Strategy& strategy) {
    const std::optional<Collective> collective = collective_of(test.operation);
    if (!collective) return {"-"};
    try {
        const Explanation explanation =
            communicator.explain(*collective, test.type, whole_count(test), {.strategy = strategy});
        return {to_string(explanation.strategy), 1e6 * explanation.seconds, explanation.reason};
    } catch (const Error&) {
        return {to_string(strategy)};
    }
}

std::vector<Prediction> predict_strategies(const Communicator& communicator, const Case& test) {
    std::vector<Prediction> predictions;
    const ExplainedCase chosen = explain_case(communicator, test, Strategy::automatic());
    for (const Strategy& strategy :
         {Strategy::direct(), Strategy::ring(), Strategy::tree(2), Strategy::centralized(),
          Strategy::hierarchical_copy(8), Strategy::forest()}) {
        const ExplainedCase explained = explain_case(communicator, test, strategy);
        if (explained.us == 0) continue;
        const auto family = [](const std::string& name) { return name.substr(0, name.find('(')); };
        predictions.push_back({to_string(strategy), test.shape.bytes, explained.us,
                               family(chosen.strategy) == family(explained.strategy)});
    }
    return predictions;
}

}  // namespace rondo::bench
