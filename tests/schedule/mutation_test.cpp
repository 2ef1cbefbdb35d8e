// Can verify() fail? Schedules are damaged at random; what the interpreter finds harmful, verify()
// must reject. What both accept is harmless.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include "tests/schedule/interpreter.hpp"
#include "tests/schedule/problems.hpp"

namespace rondo::test {
namespace {

using Random = std::mt19937_64;

template <class T>
T& any_of(std::vector<T>& values, Random& random) {
    return values[random() % values.size()];
}

/// Damages the schedule, or returns false when it has nothing of that kind.
using Mutation = std::function<bool(Schedule&, Random&)>;

Step* any_step(Schedule& schedule, Random& random) {
    Lane& lane = any_of(schedule.lanes, random);
    return lane.steps.empty() ? nullptr : &any_of(lane.steps, random);
}

template <class T>
bool drop_one(std::vector<T>& values, Random& random) {
    if (values.empty()) return false;
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    return true;
}

template <class T>
bool repeat_one(std::vector<T>& values, Random& random) {
    if (values.empty()) return false;
    const T copy = any_of(values, random);
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(random() % (values.size() + 1)),
                  copy);
    return true;
}

/// Something of a random step.
template <class Change>
Mutation of_step(Change change) {
    return [change](Schedule& schedule, Random& random) {
        Step* const step = any_step(schedule, random);
        return step != nullptr && change(schedule, *step, random);
    };
}

bool change_operand(const Schedule& schedule, std::vector<Operand>& operands, Random& random) {
    if (operands.empty()) return false;
    Operand& operand = any_of(operands, random);
    const Operand before = operand;
    const std::size_t limit =
        operand.kind == Operand::Kind::channel ? schedule.channels.size() : schedule.ranks;
    operand.index = static_cast<std::uint32_t>(random() % limit);
    return !(operand == before);
}

const std::map<std::string, Mutation>& mutations() {
    static const std::map<std::string, Mutation> all{
        {"drop a step",
         [](Schedule& schedule, Random& random) {
             return drop_one(any_of(schedule.lanes, random).steps, random);
         }},
        {"repeat a step",
         [](Schedule& schedule, Random& random) {
             return repeat_one(any_of(schedule.lanes, random).steps, random);
         }},
        {"swap two steps",
         [](Schedule& schedule, Random& random) {
             std::vector<Step>& steps = any_of(schedule.lanes, random).steps;
             if (steps.size() < 2) return false;
             const std::size_t first = random() % steps.size();
             const std::size_t second = random() % steps.size();
             std::swap(steps[first], steps[second]);
             return !(steps[first] == steps[second]);
         }},
        {"drop a wait", of_step([](Schedule&, Step& step, Random& random) {
             return drop_one(step.waits, random);
         })},
        {"drop a signal", of_step([](Schedule&, Step& step, Random& random) {
             return drop_one(step.signals, random);
         })},
        {"drop an event altogether",
         [](Schedule& schedule, Random& random) {
             if (schedule.events.empty()) return false;
             const auto event = static_cast<std::uint32_t>(random() % schedule.events.size());
             for (Lane& lane : schedule.lanes) {
                 for (Step& step : lane.steps) {
                     std::erase(step.waits, event);
                     std::erase(step.signals, event);
                 }
             }
             return true;
         }},
        {"move a wait to another step",
         [](Schedule& schedule, Random& random) {
             Lane& lane = any_of(schedule.lanes, random);
             if (lane.steps.size() < 2) return false;
             Step& from = any_of(lane.steps, random);
             Step& to = any_of(lane.steps, random);
             if (&from == &to || from.waits.empty()) return false;
             to.waits.push_back(from.waits.back());
             from.waits.pop_back();
             return true;
         }},
        {"move a signal to another step",
         [](Schedule& schedule, Random& random) {
             Lane& lane = any_of(schedule.lanes, random);
             if (lane.steps.size() < 2) return false;
             Step& from = any_of(lane.steps, random);
             Step& to = any_of(lane.steps, random);
             if (&from == &to || from.signals.empty()) return false;
             to.signals.push_back(from.signals.back());
             from.signals.pop_back();
             return true;
         }},
        {"drop a source", of_step([](Schedule&, Step& step, Random& random) {
             return drop_one(step.sources, random);
         })},
        {"repeat a source", of_step([](Schedule&, Step& step, Random& random) {
             return repeat_one(step.sources, random);
         })},
        {"change a source", of_step([](Schedule& schedule, Step& step, Random& random) {
             return change_operand(schedule, step.sources, random);
         })},
        {"drop a destination", of_step([](Schedule&, Step& step, Random& random) {
             return drop_one(step.destinations, random);
         })},
        {"change a destination", of_step([](Schedule& schedule, Step& step, Random& random) {
             return change_operand(schedule, step.destinations, random);
         })},
        {"change a unit", of_step([](Schedule& schedule, Step& step, Random& random) {
             const std::uint32_t before = step.unit;
             step.unit = static_cast<std::uint32_t>(random() % schedule.unit_shares.size());
             return step.unit != before && !step.sources.empty();
         })},
        {"finish elsewhere", of_step([](Schedule&, Step& step, Random&) {
             step.finishes = !step.finishes;
             return !step.sources.empty();
         })}};
    return all;
}

/// Wrong in one of several random executions.
bool is_harmful(const Schedule& mutant, Random& random) {
    for (int run = 0; run < 24; ++run) {
        const bool in_place = run % 2 == 0 && mutant.collective != Collective::all_to_all;
        if (!interpret(mutant, {.seed = random(), .chunks = 4, .in_place = in_place}).empty()) {
            return true;
        }
    }
    return false;
}

bool is_rejected(const Schedule& mutant) {
    try {
        return !verify(mutant);
    } catch (const InvalidArgument&) {
        return true;
    }
}

bool is_valid(const Schedule& mutant) {
    try {
        validate(mutant);
        return true;
    } catch (const InvalidArgument&) {
        return false;
    }
}

Schedule random_schedule(Random& random) {
    const MachineView machine(static_cast<std::uint32_t>(2 + random() % 4));
    const std::vector<Strategy> strategies = sample_strategies();
    while (true) {
        BuildInput input{.machine = machine,
                         .collective = all_collectives[random() % all_collectives.size()],
                         .root = static_cast<std::uint32_t>(random() % machine.ranks()),
                         .strategy = strategies[random() % strategies.size()],
                         .depth = 1u << random() % 3};
        const std::vector<std::uint32_t> variants = variants_of(input);
        input.variant = variants[random() % variants.size()];
        if (auto schedule = try_build(input)) return *std::move(schedule);
    }
}

TEST(Interpreter, AgreesThatTheStrategiesAreRight) {
    Random random(1);
    for (int i = 0; i < 300; ++i) {
        const Schedule schedule = random_schedule(random);
        const bool in_place = i % 2 == 0 && schedule.collective != Collective::all_to_all;
        EXPECT_EQ(interpret(schedule, {.seed = random(), .chunks = 3, .in_place = in_place}), "")
            << to_string(schedule);
    }
}

/// Always the same, unless somebody asks for another.
std::uint64_t chosen_seed() {
    const char* const asked = std::getenv("RONDO_MUTATION_SEED");
    if (asked == nullptr) return 20261118;
    if (std::string_view(asked) == "random") return std::random_device()();
    return std::stoull(asked);
}

TEST(Mutations, HarmfulOnesAreRejected) {
    const std::uint64_t seed = chosen_seed();
    std::printf("seed %llu (RONDO_MUTATION_SEED=<number> or =random)\n",
                static_cast<unsigned long long>(seed));
    Random random(seed);
    struct Tally {
        int made = 0, harmful = 0, missed = 0;
    };
    std::map<std::string, Tally> tallies;
    Tally all;
    std::string missed;
    for (int i = 0; i < 8000; ++i) {
        Schedule mutant = random_schedule(random);
        auto choice = mutations().begin();
        std::advance(choice, static_cast<std::ptrdiff_t>(random() % mutations().size()));
        if (!choice->second(mutant, random)) continue;
        const bool rejected = is_rejected(mutant);
        // What does not even make sense can't be run.
        const bool harmful = !is_valid(mutant) || is_harmful(mutant, random);
        Tally& tally = tallies[choice->first];
        for (Tally* each : {&tally, &all}) {
            ++each->made;
            each->harmful += harmful ? 1 : 0;
            each->missed += harmful && !rejected ? 1 : 0;
        }
        if (harmful && !rejected) {
            missed += choice->first + ":\n" + to_string(mutant) + "\n";
        }
    }
    for (const auto& [name, tally] : tallies) {
        std::printf("%-30s %5d made, %5d harmful, %d missed\n", name.c_str(), tally.made,
                    tally.harmful, tally.missed);
        EXPECT_GT(tally.harmful, 5) << name;
    }
    std::printf("%-30s %5d made, %5d harmful, %d missed\n", "all", all.made, all.harmful,
                all.missed);
    EXPECT_GT(all.harmful, 1000);
    EXPECT_EQ(all.missed, 0) << missed;
}

}  // namespace
}  // namespace rondo::test
