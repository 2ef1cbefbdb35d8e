// The trace is what Chrome and Perfetto read.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/topology/simulate/support.hpp"

namespace rondo::test {
namespace {

TEST(ChromeTrace, HasAProcessPerRankAndEveryStep) {
    const Topology topology = load_topology("dgx1_v100");
    const Routing routing(topology, {.gpus = {0, 1, 2}});
    const Schedule tree = make(Strategy::tree(2), 3, 2);
    const Simulation result =
        simulate(tree, routing, {.bytes = 1 << 20, .slot_bytes = 256 << 10, .timeline = true});
    std::size_t steps = 0;
    for (const Lane& lane : tree.lanes) steps += lane.steps.size() * result.chunks_run;
    ASSERT_EQ(result.steps.size(), steps);
    const auto trace = nlohmann::json::parse(chrome_trace(tree, routing, result));
    std::size_t complete = 0;
    std::size_t processes = 0;
    for (const auto& event : trace.at("traceEvents")) {
        if (event.at("ph") == "X") {
            ++complete;
            EXPECT_GE(event.at("dur").get<double>(), 0);
            EXPECT_LE(event.at("ts").get<double>() + event.at("dur").get<double>(),
                      result.seconds * 1e6 * (1 + 1e-9));
        }
        if (event.at("name") == "process_name") ++processes;
    }
    EXPECT_EQ(complete, steps);
    EXPECT_EQ(processes, 3u);
}

}  // namespace
}  // namespace rondo::test
