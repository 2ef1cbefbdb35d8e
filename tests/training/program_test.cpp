// rondo-train, run as a user runs it, on virtual GPUs.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <nlohmann/json.hpp>

#include "rondo/training/evolution.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

using namespace std::chrono_literals;

struct ProgramResult {
    int code = -1;
    std::string out;
    std::string error;
};

/// A folder of its own for every test, with data in it; the program runs there.
class TrainProgram : public ::testing::Test {
protected:
    TrainProgram() {
        std::ofstream csv(folder_.file("digits.csv"));
        const Table digits = synthetic::digits(200, 0.2f, 1);
        for (std::size_t i = 0; i < digits.size(); ++i) {
            for (const float dot : digits.sample(i).features) csv << dot << ',';
            csv << "digit" << digits.sample(i).targets[0] << '\n';
        }
    }

    std::string contents(const std::string& name) const {
        return rondo::testing::file_contents(folder_.file(name));
    }
    void write(const std::string& name, const std::string& text) const {
        folder_.write(name, text);
    }
    /// A line for a shell, which becomes the program.
    std::string command(const std::string& arguments) const {
        return "cd '" + folder_.path().string() + "' && exec '" RONDO_TRAIN "' " + arguments +
               " > out 2> error";
    }
    ProgramResult run(const std::string& arguments) const {
        const int status = std::system(command(arguments).c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents("out"), contents("error")};
    }
    void remove(const std::string& name) const { std::filesystem::remove(folder_.file(name)); }
    /// Tells one version of a file from the next: they come by rename. 0: there is none.
    ino_t version(const std::string& name) const {
        struct stat found = {};
        return ::stat(folder_.file(name).c_str(), &found) == 0 ? found.st_ino : 0;
    }

private:
    rondo::testing::TemporaryFolder folder_;
};

TEST_F(TrainProgram, HelpHasExamplesAndExitCodes) {
    const ProgramResult help = run("--help");
    EXPECT_EQ(help.code, 0);
    expect_words(help.out, {"--data", "--resume", "--report", "Examples:", "Exit codes: 0 done"});
}

TEST_F(TrainProgram, EveryBadInputIsNamed) {
    write("bad.csv", "1,2,a\n1,x,b\n");
    write("unknown.json", R"({"strategy": "swarm"})");
    write("field.json", R"({"strategy": "data_parallel", "num_replicas": 2, "speed": 1})");
    write("many.json", R"({"strategy": "data_parallel", "num_replicas": 99})");
    write("no.ckpt", "this is no checkpoint");
    struct Row {
        std::string arguments;
        int code;
        std::vector<std::string> words;
    };
    const std::vector<Row> table{
        {"", 2, {"--data"}},
        {"--data digits.csv --speed 3", 2, {"--speed"}},
        {"--data digits.csv --task sorting", 2, {"sorting"}},
        {"--data digits.csv --epochs many", 2, {"many"}},
        {"--data nowhere.csv", 1, {"nowhere.csv"}},
        {"--data bad.csv", 1, {"line 2, column 1: 'x'"}},
        {"--data digits.csv --target 99", 1, {"99"}},
        {"--data digits.csv --delimiter ab", 1, {"'ab'"}},
        {"--data digits.csv --validation 1.5", 1, {"1.5"}},
        {"--data digits.csv --model cubic", 1, {"'cubic'"}},
        {"--data digits.csv --model dense:3,x", 1, {"'x'"}},
        {"--data digits.csv --activation step", 1, {"'step'"}},
        {"--data digits.csv --optimizer lion", 1, {"lion"}},
        {"--data digits.csv --strategy nowhere.json", 1, {"nowhere.json"}},
        {"--data digits.csv --strategy unknown.json", 1, {"swarm", "data_parallel"}},
        {"--data digits.csv --strategy field.json", 1, {"/speed"}},
        {"--data digits.csv --strategy many.json", 1, {"99 devices"}},
        {"--data digits.csv --resume no.ckpt", 1, {"no.ckpt", "no checkpoint"}},
        {"--data digits.csv --epochs 1 --report no/such/folder.html", 1, {"folder.html"}},
        {"--data digits.csv --epochs 1 --parameters no/such/file.json", 1, {"file.json"}}};
    for (const Row& row : table) {
        SCOPED_TRACE(row.arguments);
        const ProgramResult result = run(row.arguments + " --gpu virtual --quiet");
        EXPECT_EQ(result.code, row.code) << result.error;
        expect_words(result.error, row.words);
    }
}

std::size_t count(const std::string& text, const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
    return found;
}

TEST_F(TrainProgram, TrainsAndWritesAReportAndATimeline) {
    write("replicas.json", R"({"strategy": "data_parallel", "num_replicas": 2})");
    const ProgramResult result =
        run("--data digits.csv --strategy replicas.json --epochs 15 --gpu virtual "
            "--report report.html --timeline trace.json");
    ASSERT_EQ(result.code, 0) << result.error;
    expect_words(result.out, {"15 rounds, 75 steps", "validation: loss", "% right of 40 samples",
                              "report: report.html"});
    const std::size_t at = result.out.find("loss ");
    EXPECT_LT(std::stod(result.out.substr(at + 5)), 1.5) << "guessing has 2.3\n" << result.out;
    const std::string html = contents("report.html");
    expect_words(html, {"<svg", "160 samples, 64 features, 10 classes", "</html>", "validation"});
    EXPECT_EQ(html.find("http://"), html.find("http://www.w3.org")) << "it needs no other file";
    EXPECT_EQ(count(html, "<polyline"), 6u) << "loss and accuracy of two workers and validation";
    std::size_t compute = 0;
    for (const auto& event : nlohmann::json::parse(contents("trace.json"))) {
        compute += event.value("ph", "") == "X";
    }
    EXPECT_GE(compute, 2u * 75u);
}

/// y = 300 + 50 a - 20 b, far from 0 and far from 1: the loss is in the unit of the file.
TEST_F(TrainProgram, LearnsLargeNumbersAndSaysHowWell) {
    std::string text = "a\tb\ty\n";
    for (int i = 0; i < 200; ++i) {
        const double a = i % 17, b = i % 13;
        text += std::to_string(a) + "\t" + std::to_string(b) + "\t" +
                std::to_string(300 + 50 * a - 20 * b) + "\n";
    }
    write("line.tsv", text);
    write("pipeline.json",
          R"({"strategy": "model_parallel", "partitions": [{"worker": 0, "nodes": ["linear"]}]})");
    for (const std::string strategy : {"", " --strategy pipeline.json"}) {
        const ProgramResult result = run(
            R"(--data line.tsv --delimiter '\t' --model linear --epochs 60 --gpu virtual --quiet)" +
            strategy);
        ASSERT_EQ(result.code, 0) << result.error;
        expect_words(result.out, {"160 samples, 2 features, numbers as targets"});
        const std::size_t at = result.out.find("loss ");
        ASSERT_NE(at, result.out.npos);
        EXPECT_LT(std::stod(result.out.substr(at + 5)), 100) << "the variance is 80000";
        expect_words(result.out, {" of 40 samples, 100.00 %", "of their variance explained"});
    }
}

TEST_F(TrainProgram, WritesWhatItLearned) {
    write("line.csv", "a,b,y\n1,0.1,10.5\n2,0.1,20.5\n3,0.1,30.5\n4,0.1,40.5\n");
    const std::string common =
        "--data line.csv --model linear --gpu virtual --quiet --validation 0 --no-shuffle ";
    ASSERT_EQ(run(common + "--epochs 0 --parameters start.json").code, 0);
    ASSERT_EQ(
        run(common + "--batch 4 --epochs 1 --optimizer sgd:lr=0.1 --parameters end.json").code, 0);
    const auto start = nlohmann::json::parse(contents("start.json"));
    const auto end = nlohmann::json::parse(contents("end.json"));
    EXPECT_EQ(start["feature_names"], (std::vector<std::string>{"a", "b"}));
    EXPECT_NEAR(start["feature_mean"][0].get<double>(), 2.5, 1e-6);
    EXPECT_NEAR(start["feature_deviation"][0].get<double>(), std::sqrt(1.25), 1e-6);
    EXPECT_EQ(start["feature_deviation"][1], 0);
    EXPECT_NEAR(start["target_mean"].get<double>(), 25.5, 1e-5);
    EXPECT_NEAR(start["target_deviation"].get<double>(), 10 * std::sqrt(1.25), 1e-5);
    // One step of mean squared error on (x, y) = (-1.34, -1.34) ... (1.34, 1.34).
    const auto value = [](const auto& model, std::size_t parameter) {
        return model["parameters"][parameter]["values"][0].template get<double>();
    };
    const double w = value(start, 0), b = value(start, 1);
    EXPECT_NEAR(value(end, 0), w - 0.1 * 2 * (w - 1), 1e-5);
    EXPECT_NEAR(value(end, 1), b - 0.1 * 2 * b, 1e-5);
    EXPECT_EQ(end["parameters"][0]["values"][1], start["parameters"][0]["values"][1])
        << "a constant feature is 0 and has no gradient";
}

/// Equal targets have no variance; their number is what there is to learn.
TEST_F(TrainProgram, LearnsAConstant) {
    std::string text = "a,y\n";
    for (int i = 0; i < 50; ++i) text += std::to_string(i % 7) + ",0.1\n";
    write("same.csv", text);
    const ProgramResult result =
        run("--data same.csv --task regression --model linear --epochs 30 --gpu virtual --quiet");
    ASSERT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(result.out.find("explained"), result.out.npos) << result.out;
    EXPECT_EQ(result.out.find("nan"), result.out.npos) << result.out;
}

TEST_F(TrainProgram, APopulationsReportHasItsLineage) {
    write("population.json",
          R"({"strategy": "population_based", "population_size": 3, "generations": 4})");
    const ProgramResult result =
        run("--data digits.csv --strategy population.json --gpu virtual --report report.html "
            "--evolution log.json");
    ASSERT_EQ(result.code, 0) << result.error;
    EXPECT_EQ(evolution_log_from_json(contents("log.json")).generations.size(), 4u);
    expect_words(contents("report.html"), {"member 2", "ineage"});
}

TEST_F(TrainProgram, ARunThatGoesOnIsARunThatWasNeverStopped) {
    const std::string common = "--data digits.csv --gpu virtual --quiet --checkpoint ";
    ASSERT_EQ(run(common + "whole.ckpt --epochs 6").code, 0);
    ASSERT_EQ(run(common + "half.ckpt --epochs 3").code, 0);
    EXPECT_NE(contents("half.ckpt"), contents("whole.ckpt"));
    ASSERT_EQ(run(common + "half.ckpt --epochs 6 --resume half.ckpt").code, 0);
    EXPECT_EQ(contents("half.ckpt"), contents("whole.ckpt"));
}

/// kill -9 at a random moment behind each new checkpoint, until a run comes to its end.
TEST_F(TrainProgram, KilledAgainAndAgainItHasTheSameBits) {
    write("replicas.json", R"({"strategy": "data_parallel", "num_replicas": 2})");
    write("federated.json", R"({"strategy": "federated", "num_clients": 3, "rounds": 10})");
    write("population.json",
          R"({"strategy": "population_based", "population_size": 3, "generations": 8})");
    std::mt19937 random(3);
    for (const std::string name : {"replicas", "federated", "population"}) {
        SCOPED_TRACE(name);
        const std::string common =
            "--data digits.csv --gpu virtual --quiet --epochs 10 --strategy " + name +
            ".json --checkpoint " + name;
        ASSERT_EQ(run(common + ".whole").code, 0) << contents("error");
        const std::string own = name + ".killed";
        int kills = 0;
        // A run may be too quick to be killed: then once more from the start.
        for (bool done = false; !done || kills == 0;) {
            if (done) remove(own);
            done = false;
            const ino_t before = version(own);
            const std::string text =
                command(common + ".killed" + (before == 0 ? "" : " --resume " + own));
            const pid_t child = ::fork();
            ASSERT_GE(child, 0);
            if (child == 0) {
                ::execl("/bin/sh", "sh", "-c", text.c_str(), nullptr);
                ::_exit(127);
            }
            int status = 0;
            while (!done && version(own) == before) {
                done = ::waitpid(child, &status, WNOHANG) == child;
                ::usleep(200);
            }
            if (!done) {
                ::usleep(random() % 10'000);
                ::kill(child, SIGKILL);
                ASSERT_EQ(::waitpid(child, &status, 0), child);
                done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
                kills += !done;
            }
            ASSERT_TRUE(!done || status == 0) << contents("error");
        }
        EXPECT_EQ(contents(name + ".killed"), contents(name + ".whole"));
    }
}

}  // namespace
}  // namespace rondo::training::test
