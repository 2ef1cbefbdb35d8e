// rondo-topo detect: the topology of this machine, with what is doubtful about it.
#include "topology/detect/detect.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "topology/graph/json.hpp"
#include "topology/tool/commands.hpp"
#include "topology/tool/table.hpp"

namespace rondo::tool {
namespace {

DetectOptions options_of(const DetectCommand& command) {
    DetectOptions options;
    options.root = command.root;
    options.nvml_library = command.nvml;
    options.cuda = !command.no_cuda;
    options.self_test = !command.no_self_test;
    options.test.may_reset_devices = true;  // nothing else of this process is on them
    return options;
}

void print_facts(const std::vector<Fact>& facts) {
    Table table({{"OF"}, {"WHAT"}, {"VALUE"}, {"SAYS"}});
    for (const Fact& fact : facts) {
        table.add({fact.subject, fact.what, fact.value, to_string(fact.source)});
    }
    fmt::print("\n{}", table.text());
}

}  // namespace

void detect_machine(const DetectCommand& command) {
    const Detection detection = detect(options_of(command));
    for (const std::string& warning : detection.warnings) {
        fmt::print(stderr, "warning: {}\n", warning);
    }
    if (!command.output.empty()) write_file(command.output, topology_to_json(detection.topology));
    if (command.output == "-") return;
    for (const std::string& source : detection.topology.sources()) fmt::print("{}\n", source);
    fmt::print("\n");
    print_tables(detection.topology, false);
    if (command.facts) print_facts(detection.facts);
    if (!command.output.empty()) fmt::print("\nWritten: {}\n", command.output);
}

}  // namespace rondo::tool
