// rondo-topo: shows, checks, converts and measures topologies from the command line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "topology/tool/commands.hpp"

namespace {

using namespace rondo::tool;

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

constexpr const char* what_it_does =
    "Shows, checks and converts topologies of GPU machines, and computes how fast collectives can "
    "be on them.\n\n"
    "A TOPOLOGY is the name of a preset (dgx1_v100), a number of virtual GPUs (8) or a file: "
    "Rondo's JSON or NCCL's XML.";

constexpr const char* examples =
    "Examples:\n"
    "  rondo-topo list                                    the machines that are built in\n"
    "  rondo-topo show dgx1_v100 --svg dgx1.svg           tables, and a picture for a browser\n"
    "  rondo-topo detect -o machine.json                  what this machine is made of\n"
    "  rondo-topo convert dgx1_v100 dgx1.xml              a file for NCCL_TOPO_FILE\n"
    "  rondo-topo bound dgx1_v100 --gpus 0-4 --links nvlink\n"
    "                                                     the best all_reduce of five GPUs\n"
    "  rondo-topo bound dgx1_v100 --svg trees.svg         and a picture of the trees\n"
    "  rondo-topo plan dgx1_v100 --gpus 0-4 --bytes 256M  which strategy is fastest, and why\n\n"
    "Exit codes: 0 done, 1 failed (the reason is on standard error), 2 wrong usage.";

void add_list(CLI::App& app, bool& json) {
    CLI::App* command = app.add_subcommand("list", "List the presets");
    command->add_flag("--json", json, "Print JSON");
    command->callback([&json] { list_presets(json); });
}

void add_show(CLI::App& app, ShowOptions& options) {
    CLI::App* command =
        app.add_subcommand("show", "Print nodes, links and how each pair of GPUs is connected");
    command->add_option("topology", options.topology, "Preset, number or file")->required();
    command->add_option("--svg", options.svg_file,
                        "Also draw a picture into this file; - is standard output");
    command->add_flag("--all", options.all, "Print everything, also for more than 16 GPUs");
    command->callback([&options] { show(options); });
}

void add_validate(CLI::App& app, std::string& file) {
    CLI::App* command = app.add_subcommand(
        "validate", "Check a JSON or XML file: says what is wrong and where, and what looks odd");
    command->add_option("file", file, "The file")->required();
    command->callback([&file] { validate_file(file); });
}

void add_convert(CLI::App& app, ConvertOptions& options) {
    CLI::App* command = app.add_subcommand(
        "convert", "Write a topology as Rondo's JSON or as NCCL's XML (NCCL_TOPO_FILE)");
    command->add_option("input", options.input, "Preset, number or file")->required();
    command->add_option("output", options.output, "File to write; - is standard output")
        ->required();
    command
        ->add_option("--format", options.format, "json or xml; default: as the output's name ends")
        ->check(CLI::IsMember({"json", "xml"}));
    command->callback([&options] { convert(options); });
}

void add_gpus(CLI::App& command, std::string& gpus) {
    command.add_option("--gpus", gpus, "GPUs that take part: 0,1,4-7; default: all")
        ->check([](const std::string& text) {
            return text.empty() ? "it names no GPU; write numbers and ranges like 0,1,4-7"
                                : std::string();
        });
}

/// What `bound` and `plan` ask about the links.
template <class Options>
void add_links_and_model(CLI::App& command, Options& options) {
    command
        .add_option("--links", options.links, "nvlink (NVLink, XGMI and shared memory only) or all")
        ->capture_default_str();
    command
        .add_option("--model", options.model,
                    "Bandwidths: nccl (what NCCL's model assumes) or nominal")
        ->capture_default_str();
}

void add_bound(CLI::App& app, BoundOptions& options) {
    CLI::App* command = app.add_subcommand(
        "bound",
        "Compute the exact best throughput of tree collectives, and trees that reach it.\n"
        "algbw = bytes of data / time. In-switch reduction (NVLS) is outside the model.");
    command->add_option("topology", options.topology, "Preset, number or file")->required();
    add_gpus(*command, options.gpus);
    add_links_and_model(*command, options);
    command->add_flag("--helpers", options.helpers, "GPUs that do not take part may pass data on");
    command->add_flag("--json", options.json, "Print JSON; algbw_bound is the all_reduce figure");
    command->add_option("--svg", options.svg_file,
                        "Also draw the heaviest trees into this file; - is standard output");
    command->callback([&options] { bound(options); });
}

void add_plan(CLI::App& app, PlanOptions& options) {
    CLI::App* command = app.add_subcommand(
        "plan",
        "Simulate every strategy for a collective and say which is the fastest, and why.\n"
        "The time is that of Rondo's own schedules on the links of the machine, with latencies; "
        "docs/simulator.md tells how far it can be trusted.\n"
        "In-switch reduction (NVLS) is outside the model.");
    command->footer(
        "Examples:\n"
        "  rondo-topo plan dgx1_v100 --bytes 256M\n"
        "  rondo-topo plan dgx1_v100 --gpus 0,1,2,3,4 --bytes 256M     why a ring is bad here\n"
        "  rondo-topo plan hgx_h100 --collective all_gather --bytes 1G --json\n"
        "  rondo-topo plan dgx_a100 --bytes 1M --strategy ring --trace ring.json\n"
        "                                          the steps, for chrome://tracing or "
        "ui.perfetto.dev");
    command->add_option("topology", options.topology, "Preset, number or file")->required();
    command
        ->add_option(
            "--collective", options.collective,
            "all_reduce, reduce, broadcast, reduce_scatter, all_gather, all_to_all, gather "
            "or scatter")
        ->capture_default_str();
    command
        ->add_option("--bytes", options.bytes,
                     "Size of the whole message (all_to_all: of what each GPU sends): 1000, 64K, "
                     "256M, 1GiB")
        ->required();
    add_gpus(*command, options.gpus);
    command->add_option(
        "--root", options.root,
        "The GPU of broadcast, reduce, gather and scatter; default: the first that takes "
        "part");
    add_links_and_model(*command, options);
    command->add_option(
        "--strategy", options.strategy,
        "Take this one instead of the fastest: ring, tree(2), direct(2), forest...");
    command->add_flag("--json", options.json, "Print JSON; rates in GB/s");
    command->add_option("--trace", options.trace_file,
                        "Write when each step runs as Chrome trace; - is standard output");
    command->callback([&options] { plan(options); });
}

void add_detect(CLI::App& app, DetectCommand& options) {
    CLI::App* command = app.add_subcommand(
        "detect",
        "Find out what this machine is made of, from CUDA, NVML and the kernel, and try out the\n"
        "links between the GPUs. What nobody tells is estimated by NCCL's rules and said to be "
        "so.");
    command->add_option("-o,--output", options.output,
                        "Write the topology as JSON to this file; - is standard output");
    command->add_flag("--facts", options.facts, "Print every fact with its source");
    command->add_flag("--no-self-test", options.no_self_test, "Do not copy data between the GPUs");
    command->add_option("--root", options.root, "Where sys and proc are")->capture_default_str();
    command->add_option("--nvml", options.nvml, "The library to load; empty: do not ask NVML")
        ->capture_default_str();
    command->add_flag("--no-cuda", options.no_cuda, "Do not ask CUDA");
    command->callback([&options] { detect_machine(options); });
}

struct AllOptions {
    bool list_json = false;
    ShowOptions show;
    std::string file;
    ConvertOptions convert;
    BoundOptions bound;
    PlanOptions plan;
    DetectCommand detect;
};

/// CLI11 does not name it.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return;
    std::string known;
    for (const CLI::App* const command : app.get_subcommands({})) {
        if (command->get_name() == argv[1]) return;
        known += (known.empty() ? "" : ", ") + command->get_name();
    }
    throw UsageError(fmt::format("unknown command '{}'; it must be one of {}", argv[1], known));
}

int run(int argc, char** argv) {
    AllOptions options;
    CLI::App app(what_it_does, "rondo-topo");
    app.set_version_flag("--version", "rondo-topo " RONDO_VERSION);
    app.footer(examples);
    app.require_subcommand(1);
    add_list(app, options.list_json);
    add_show(app, options.show);
    add_validate(app, options.file);
    add_convert(app, options.convert);
    add_detect(app, options.detect);
    add_bound(app, options.bound);
    add_plan(app, options.plan);
    refuse_unknown_command(app, argc, argv);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    if (std::fflush(stdout) != 0) throw std::runtime_error("standard output can't be written");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const UsageError& error) {
        fmt::print(stderr, "rondo-topo: {}\n", error.what());
        return exit_usage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "rondo-topo: {}\n", error.what());
        return exit_failed;
    }
}
