// Pictures and reports: they can be parsed, show what they are given, and text of users stays text.
#include "rondo/training/chart.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

#include <pugixml.hpp>

#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

constexpr const char* nasty = R"(a<b>&"c"'d'</svg></title><script>)";

/// The document; a failure when it is not well-formed.
pugi::xml_document parse(const std::string& text) {
    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_buffer(text.data(), text.size(), pugi::parse_full);
    EXPECT_TRUE(result) << result.description()
                        << " at: " << text.substr(static_cast<std::size_t>(result.offset), 80);
    return document;
}

std::size_t count(const pugi::xml_document& document, const std::string& path) {
    return document.select_nodes(path.c_str()).size();
}

std::string all_text(const pugi::xml_document& document) {
    std::string text;
    for (const auto& node : document.select_nodes("//text()")) {
        text += std::string(node.node().value()) + "\n";
    }
    return text;
}

Curve line(const std::string& name, std::vector<double> losses) {
    Curve curve{.name = name};
    for (const double loss : losses) {
        const double round = static_cast<double>(curve.points.size() + 1);
        curve.points.push_back({round, loss, loss / 10});
    }
    return curve;
}

TEST(Charts, HaveALineAndANameForEveryCurve) {
    const std::vector<Curve> curves{line("worker 0", {3, 2, 1}), line("validation", {4, 3, 2}),
                                    line(nasty, {1, 1, 1})};
    for (const bool accuracy : {false, true}) {
        const auto svg = parse(draw_curves(curves, {.title = nasty, .accuracy = accuracy}));
        EXPECT_EQ(count(svg, "/svg/polyline"), 3u);
        EXPECT_EQ(count(svg, "//script"), 0u);
        expect_words(all_text(svg), {"worker 0", "validation", nasty});
        EXPECT_STREQ(svg.child("svg").attribute("aria-label").value(), nasty);
        EXPECT_EQ(count(svg, "/svg/polyline[@class='main']"), 1u) << "the validation's";
    }
}

TEST(Charts, PlaceLargerLossesHigher) {
    const auto svg = parse(draw_curves(std::vector{line("a", {8, 4, 2})}));
    const std::string points = svg.select_node("/svg/polyline").node().attribute("points").value();
    double x[3], y[3];
    ASSERT_EQ(
        std::sscanf(points.c_str(), "%lf,%lf %lf,%lf %lf,%lf", x, y, x + 1, y + 1, x + 2, y + 2),
        6);
    EXPECT_LT(x[0], x[1]);
    EXPECT_LT(x[1], x[2]);
    EXPECT_LT(y[0], y[1]);  // y grows downwards
    EXPECT_NEAR(y[2] - y[1], (y[1] - y[0]) / 2, 0.11) << "the scale is even";
}

TEST(Charts, LeaveOutWhatIsNoNumber) {
    const double none = std::nan(""), endless = std::numeric_limits<double>::infinity();
    const auto svg = parse(draw_curves(
        std::vector{line("a", {1, none, endless, 2}), line("gone", {none}), line("dot", {5})}));
    EXPECT_EQ(count(svg, "/svg/polyline"), 2u);
    EXPECT_EQ(count(svg, "/svg/circle"), 1u) << "a single point is a dot";
    for (const auto& each : svg.select_nodes("//@*")) {
        const std::string value = each.attribute().value();
        EXPECT_EQ(value.find("nan"), value.npos) << value;
        EXPECT_EQ(value.find("inf"), value.npos) << value;
    }
    expect_words(all_text(parse(draw_curves({}))), {"no points"});
    std::vector<Curve> many;
    for (int i = 0; i < 40; ++i) many.push_back(line("client " + std::to_string(i), {1, 2}));
    const auto crowd = parse(draw_curves(many));
    EXPECT_EQ(count(crowd, "/svg/polyline"), 40u);
    expect_words(all_text(crowd), {"client 13", "and 26 more"});
}

EvolutionLog small_log() {
    const double lost = std::numeric_limits<double>::infinity();
    return {.hyperparameters = {nasty},
            .generations = {{{{0.1}, 2, 0.5, 0}, {{0.2}, lost, 0, 0}},
                            {{{0.1}, 1, 0.6, 0}, {{0.12}, 0.5, 0.7, 1}}},
            .best = 1};
}

TEST(Lineage, HasEveryMemberAndEveryLife) {
    const auto svg = parse(draw_lineage(small_log()));
    EXPECT_EQ(count(svg, "/svg/circle"), 4u);
    EXPECT_EQ(count(svg, "/svg/line"), 2u);
    EXPECT_EQ(count(svg, "/svg/line[@class='s1']"), 1u) << "the way to the best";
    expect_words(all_text(svg), {"member 1, generation 2", nasty, "0.12"});
    EXPECT_THROW(draw_lineage({}), InvalidArgument);
}

TEST(HtmlReport, IsWellFormedAndHasWhatHappened) {
    const TrainingReport report{
        .strategy = Custom{.coordinator = nasty, .config = "{}"},
        .parameters = std::vector<float>(77),
        .rounds = 3,
        .steps = 12,
        .ended_because = nasty,
        .validation = Evaluation{0.25, 0.875, 40},
        .curves = {line("client 0", {3, 2, 1}), line("validation", {4, 3, 2})},
        .client_failures = {{0, 5, nasty}, {1, 5, nasty}},
        .notes = {"round 2 was skipped: " + std::string(nasty)},
        .evolution = small_log(),
        .timetable = "worker 0 | F0 F1 <B0>"};
    const std::string text =
        html_report(report, {.title = nasty, .facts = {{nasty, "a fact"}, {"model", nasty}}});
    const auto html = parse(text);
    EXPECT_EQ(count(html, "/html/head/title"), 1u);
    EXPECT_EQ(count(html, "/html/body/div/svg"), 3u) << "loss, accuracy, lineage";
    EXPECT_EQ(count(html, "//script | //@href | //@src"), 0u) << "it needs no other file";
    EXPECT_EQ(text.find("@import"), text.npos);
    expect_words(all_text(html), {nasty, "a fact", "87.50 % of 40 samples", "2 rounds", "client 5",
                                  "round 2 was skipped", "worker 0 | F0 F1 <B0>", "77"});
}

TEST(HtmlReport, OfNothingIsStillAReport) {
    expect_words(all_text(parse(html_report({}))), {"Training", "no points", "local"});
}

}  // namespace
}  // namespace rondo::training::test
