// One run of the program: goes through the sizes, gathers the report.
#include "bench/tool/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/tool/cuda_check.hpp"
#include "bench/tool/explain.hpp"
#include "bench/tool/growth.hpp"
#include "bench/tool/link_limit.hpp"
#include "bench/tool/machine.hpp"
#include "bench/tool/models.hpp"
#include "bench/tool/verdict.hpp"

namespace rondo::bench {
namespace {

/// Changes the first elements of an output, as a fault would.
void spoil(const Buffers& buffers, const Case& test, int elements) {
    const Operands operands = operands_of(buffers, test);
    const std::size_t element = size_of(test.type);
    for (int i = 0; i < elements; ++i) {
        std::byte* const at = operands.outputs[static_cast<std::size_t>(test.root)] +
                              static_cast<std::size_t>(i) * element;
        std::byte value{};
        check(cudaMemcpy(&value, at, 1, cudaMemcpyDefault), "cudaMemcpy");
        value ^= std::byte{0x55};
        check(cudaMemcpy(at, &value, 1, cudaMemcpyDefault), "cudaMemcpy");
    }
}

}  // namespace

std::vector<std::uint64_t> Session::message_sizes() const {
    if (options_.operation != Operation::batch_reduce || options_.tensors.empty()) {
        return sizes_of(options_.sizes);
    }
    std::uint64_t count = 0;
    for (const std::uint64_t tensor : case_of(ElementType::f32, ReduceOp::sum, 0, 0).tensors) {
        count += tensor;
    }
    std::size_t element = 1;
    for (const ElementType type : options_.types) element = std::max(element, size_of(type));
    return {count * element};
}

std::vector<int> Session::roots() const {
    if (!has_root(options_.operation)) return {-1};
    if (options_.root >= 0) return {options_.root};
    return first_devices(options_.ranks());
}

Case Session::case_of(ElementType type, ReduceOp op, int root, std::uint64_t bytes) const {
    Case test{.operation = options_.operation,
              .type = type,
              .op = has_operator(options_.operation) ? op : ReduceOp::sum,
              .root = std::max(root, 0),
              .ranks = options_.ranks(),
              .shape = shape_of(options_.operation, type, options_.ranks(), bytes)};
    if (options_.operation != Operation::batch_reduce) return test;
    if (options_.tensors.empty()) {
        test.tensors = cut_into_tensors(test.shape.count);
        return test;
    }
    test.shape.count = 0;
    for (const std::string& text : options_.tensors) {
        if (std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
            test.tensors.push_back(parse_bytes(text));
        } else {
            const auto model = tensors_of_model(text);
            test.tensors.insert(test.tensors.end(), model.begin(), model.end());
        }
    }
    for (const std::uint64_t tensor : test.tensors) test.shape.count += tensor;
    test.shape.bytes = test.shape.count * size_of(type);
    return test;
}

void Session::run_cycle(const Listener& listener) {
    listener.started(report_);
    for (const ElementType type : options_.types) {
        for (const ReduceOp op : options_.ops) {
            for (const int root : roots()) {
                for (const std::uint64_t bytes : message_sizes()) {
                    measure_rows(case_of(type, op, root, bytes), listener);
                }
            }
        }
    }
}

void Session::measure_rows(const Case& test, const Listener& listener) {
    std::vector<Row> rows;
    for (StrategyEntry& entry : strategies_) {
        Row row{.size = test.shape.bytes,
                .count = test.shape.count,
                .type = std::string(nccl_name(test.type)),
                .op = has_operator(test.operation) ? std::string(nccl_name(test.op)) : "none",
                .root = has_root(test.operation) ? test.root : -1,
                .asked = to_string(entry.strategy)};
        explain(row, entry, test);
        rows.push_back(std::move(row));
    }
    Case half = test;
    const std::vector<Half> out_of_place = measure_half(half, listener, rows);
    half.in_place = true;
    const std::vector<Half> in_place =
        has_in_place(test.operation) ? measure_half(half, listener, rows) : std::vector<Half>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (out_of_place[i].us.median > 0) rows[i].out_of_place = out_of_place[i];
        if (!in_place.empty() && in_place[i].us.median > 0) rows[i].in_place = in_place[i];
        if (!rows[i].out_of_place && !rows[i].in_place) continue;
        rows[i].timestamp = time_text();
        report_.rows.push_back(rows[i]);
        listener.row(report_, report_.rows.back());
    }
}

std::vector<Half> Session::measure_half(const Case& test, const Listener& listener,
                                        std::vector<Row>& rows) {
    const std::string where =
        fmt::format("{}, {}", bytes_text(static_cast<double>(test.shape.bytes)),
                    test.in_place ? "in place" : "out of place");
    const auto progress = [&](const std::string& text) { listener.progress(where + ": " + text); };
    std::vector<Half> halves(strategies_.size());
    std::vector<Turns> turns = begin_turns(test, halves, progress);
    take_turns(turns, test,
               {.rounds = options_.rounds,
                .iterations = options_.iterations,
                .warm_up = options_.warm_up,
                .turn_seconds = 1e-3 * options_.round_milliseconds},
               progress);
    for (std::size_t i = 0; i < strategies_.size(); ++i) {
        if (turns[i].problem.empty()) {
            rows[i].iterations = static_cast<std::int64_t>(turns[i].iterations) * options_.rounds;
            take_times(halves[i], i, turns, test);
        } else {
            halves[i].us = {};
            tell_problem(where, rows[i].asked, turns[i]);
        }
    }
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        const Turns& peer = turns[first_peer() + i];
        if (peer.problem.empty()) continue;
        note_once(fmt::format("{}, from {} on: {}", peers_[i]->name(), where, peer.problem));
        if (peer.lost) peer_problems_[i] = peer.problem;
    }
    return halves;
}

/// Everybody who takes turns: strategies, whose results are checked first, then limits, then peers.
std::vector<Turns> Session::begin_turns(const Case& test, std::vector<Half>& halves,
                                        const std::function<void(const std::string&)>& progress) {
    std::vector<Turns> turns;
    for (std::size_t i = 0; i < strategies_.size(); ++i) {
        turns.push_back({.contestant = strategies_[i].contestant.get()});
        if (options_.check == 0) continue;
        progress("checking");
        try {
            halves[i].wrong = check_result(*strategies_[i].contestant, test);
        } catch (const Unsupported& error) {
            turns.back().problem = error.what();
        } catch (const std::exception& error) {
            turns.back().problem = error.what();
            turns.back().lost = true;
        }
    }
    for (const LimitEntry& limit : limits_) turns.push_back({.contestant = limit.contestant.get()});
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        turns.push_back(
            {.contestant = peers_[i].get(), .pace = Pace::limited, .problem = peer_problems_[i]});
    }
    return turns;
}

void Session::take_times(Half& half, std::size_t strategy, const std::vector<Turns>& turns,
                         const Case& test) {
    half.us = spread_of(turns[strategy].us);
    half.alg_bw =
        half.us.median > 0 ? 1e-3 * static_cast<double>(test.shape.bytes) / half.us.median : 0;
    half.bus_bw = half.alg_bw * bus_factor(test.operation, test.ranks);
    if (options_.per_iteration) {
        std::vector<double> times =
            strategies_[strategy].contestant->run_with_events(options_.iterations);
        for (double& time : times) time *= 1e6;
        half.iterations = statistics_of(times, options_.per_iteration_skip);
    }
    for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
        half.*limits_[limit].place = spread_of(turns[strategies_.size() + limit].us);
    }
    for (std::size_t peer = first_peer(); peer < turns.size(); ++peer) {
        half.peers.push_back({.name = turns[peer].contestant->name(),
                              .us = spread_of(turns[peer].us),
                              .iterations = turns[peer].iterations * options_.rounds,
                              .problem = turns[peer].problem});
    }
    add_log_times(half, test, test.in_place);
}

/// Of `--strategy all` some do not apply; of a strategy that was named, that is an error.
void Session::tell_problem(const std::string& where, const std::string& strategy,
                           const Turns& turns) {
    if (options_.every_strategy && !turns.lost) {
        return note_once(fmt::format("{} was left out: {}", strategy, turns.problem));
    }
    const std::string text = fmt::format("{} with {}: {}", where, strategy, turns.problem);
    if (std::ranges::find(report_.errors, text) == report_.errors.end()) {
        report_.errors.push_back(text);
    }
}

std::int64_t Session::check_result(RondoContestant& contestant, const Case& test) {
    std::int64_t wrong = 0;
    for (int i = 0; i < options_.check && wrong == 0; ++i) {
        contestant.begin(test);
        fill(*buffers_, test);
        contestant.call_once();
        if (options_.inject_wrong > 0) spoil(*buffers_, test, options_.inject_wrong);
        wrong += count_wrong(*buffers_, test);
    }
    return wrong;
}

void Session::add_log_times(Half& half, const Case& test, bool in_place) const {
    for (const SavedLog& saved : logs_) {
        for (const LogRow& row : saved.log.rows) {
            const std::optional<LogHalf>& found = in_place ? row.in_place : row.out_of_place;
            const bool same = row.size == test.shape.bytes && row.type == nccl_name(test.type) &&
                              (row.op == nccl_name(test.op) || row.op == "none");
            if (!same || !found) continue;
            half.peers.push_back(
                {.name = saved.name, .us = {found->us, found->us, found->us}, .from_log = true});
            break;
        }
    }
}

void Session::explain(Row& row, StrategyEntry& entry, const Case& test) {
    const ExplainedCase explained =
        explain_case(entry.contestant->communicator(), test, entry.strategy);
    row.strategy = explained.strategy;
    row.simulated_us = explained.us;
    row.reason = explained.reason;
    if (!topology_) return;
    const auto [bound, added] = bounds_.try_emplace(test.root, 0);
    if (added) bound->second = bound_of(*topology_, test);
    if (bound->second > 0) row.bound_us = 1e6 * static_cast<double>(row.size) / bound->second;
}

void Session::note_once(const std::string& note) {
    if (std::ranges::find(report_.notes, note) == report_.notes.end())
        report_.notes.push_back(note);
}

void Session::measure_first_calls() {
    constexpr int repeat = 3;
    for (const StrategyEntry& entry : strategies_) {
        const std::uint64_t bytes =
            std::min<std::uint64_t>(1u << 20, std::ranges::max(message_sizes()));
        const Case test = case_of(options_.types[0], options_.ops[0], options_.root, bytes);
        std::vector<double> create, first, second;
        for (int i = 0; i < repeat; ++i) {
            auto begin = std::chrono::steady_clock::now();
            const auto lap = [&begin](std::vector<double>& times) {
                const auto now = std::chrono::steady_clock::now();
                times.push_back(std::chrono::duration<double, std::milli>(now - begin).count());
                begin = now;
            };
            RondoContestant contestant(
                {.devices = first_devices(options_.ranks()), .strategy = entry.strategy}, *buffers_,
                {});
            lap(create);
            try {
                contestant.begin(test);
                contestant.call_once();
                lap(first);
                contestant.call_once();
                lap(second);
            } catch (const std::exception& error) {
                note_once(fmt::format("no first call with {}: {}", to_string(entry.strategy),
                                      error.what()));
                break;
            }
        }
        if (second.empty()) continue;
        report_.first_calls.push_back({to_string(entry.strategy), options_.ranks(),
                                       test.shape.bytes, spread_of(create).median,
                                       spread_of(first).median, spread_of(second).median});
    }
}

void Session::predict_choices() {
    const std::vector<std::uint64_t> sizes = message_sizes();
    if (strategies_.empty()) return;
    Communicator& communicator = strategies_[0].contestant->communicator();
    for (const std::uint64_t bytes : sizes) {
        const Case test = case_of(options_.types[0], options_.ops[0], options_.root, bytes);
        if (test.shape.count == 0) continue;
        const auto predictions = predict_strategies(communicator, test);
        report_.predictions.insert(report_.predictions.end(), predictions.begin(),
                                   predictions.end());
    }
}

void Session::run_growth(const Listener& listener) {
    measure_growth(options_, report_, listener.point);
    double host = 0, device = 0;
    for (const GrowthPoint& point : report_.growth) {
        host = std::max(host, point.host_bytes);
        device = std::max(device, point.device_bytes);
    }
    note_once(fmt::format("a communicator took at most {} on the host and {} on each device",
                          bytes_text(host), bytes_text(device)));
}

const Report& Session::finish() {
    report_.header.end_time = time_text();
    report_.verdict = verdict_of(report_);
    return report_;
}

}  // namespace rondo::bench
