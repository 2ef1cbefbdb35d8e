// The report in a real browser: no script errors, charts present, values equal to the JSON. Skipped
// where there is no Chromium.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <regex>

#include "tests/bench/run_bench.hpp"

namespace rondo::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string find_browser() {
    for (const char* path :
         {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
        if (access(path, X_OK) == 0) return path;
    }
    return "";
}

class BenchReport : public BenchProgram {
protected:
    void SetUp() override {
        browser_ = find_browser();
        if (browser_.empty()) GTEST_SKIP() << "there is no Chromium: apt install chromium";
        if (!html_.empty()) {  // one run serves all tests
            write("report.html", html_);
            write("report.json", json_);
            return;
        }
        const BenchResult result = bench(
            "all_reduce -g 4 -b 64 -e 64K -f 8 --topology dgx1_v100 --strategy auto --strategy "
            "ring "
            "--strategy tree:2 --html report.html -J report.json");
        ASSERT_EQ(result.code, 0) << result.out << result.error;
        html_ = file_contents(file("report.html"));
        json_ = file_contents(file("report.json"));
    }

    /// The page after its scripts have run; what they complain about is in `error`.
    BenchResult open(const std::string& options, const std::string& page = "report.html") const {
        return run(
            "'" + browser_ +
            "' --headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars "
            "--enable-logging=stderr --v=0 --virtual-time-budget=2000 --user-data-dir=profile " +
            options + " 'file://" + file(page).string() + "'");
    }

    static std::vector<double> values(const std::string& text, const std::string& attribute) {
        std::vector<double> found;
        const std::regex pattern(attribute + "=\"([^\"]*)\"");
        for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
            found.push_back(std::stod((*it)[1]));
        }
        return found;
    }

    /// From `begin` to the next `end`.
    static std::string part(const std::string& text, const std::string& begin,
                            const std::string& end) {
        const auto from = text.find(begin);
        if (from == std::string::npos) return "";
        return text.substr(from, text.find(end, from) - from);
    }

    std::string browser_;
    static inline std::string html_, json_;
};

TEST_F(BenchReport, TablesAndChartsHaveTheValuesOfTheJson) {
    const BenchResult page = open("--dump-dom");
    ASSERT_EQ(page.code, 0) << page.error;
    EXPECT_THAT(page.error, Not(HasSubstr("Uncaught"))) << page.error;
    EXPECT_THAT(page.error, Not(HasSubstr("SyntaxError")));
    std::vector<double> out_of_place, in_place;
    const nlohmann::json saved_json = json("report.json");
    for (const auto& row : saved_json.at("results")) {
        out_of_place.push_back(row.at("out_of_place").at("time"));
        in_place.push_back(row.at("in_place").at("time"));
    }
    ASSERT_EQ(out_of_place.size(), 4u * 3);
    EXPECT_EQ(values(part(page.out, "id=\"table-out\"", "</table>"), "data-us"), out_of_place);
    EXPECT_EQ(values(part(page.out, "id=\"table-in\"", "</table>"), "data-us"), in_place);
    const std::vector<double> drawn =
        values(part(page.out, "id=\"time-in\"", "</figure>"), "data-y");
    EXPECT_EQ(drawn.size(), 4u * 3 + 4) << "three strategies and the limit";
    for (const double value : in_place) EXPECT_THAT(drawn, Contains(value));
    for (const char* id : {"bandwidth-out", "bandwidth-in", "simulated-time", "choice-measured",
                           "choice-simulated", "table-first"}) {
        EXPECT_THAT(page.out, HasSubstr("id=\"" + std::string(id) + "\""));
    }
    EXPECT_THAT(part(page.out, "class=\"topology\"", "</section>"), HasSubstr("<svg"));
    const std::string saved = part(page.out, "id=\"report-json\">", "</script>");
    EXPECT_EQ(nlohmann::json::parse(saved.substr(saved.find('>') + 1)), json("report.json"));
}

TEST_F(BenchReport, ArrowKeysReadTheValuesOut) {
    // A script at the end of the page does what somebody without a mouse does.
    const std::string page = file_contents(file("report.html"));
    write("keys.html", page + R"(<script>
        const chart = document.querySelector("#time-out svg");
        chart.focus();
        const press = key => chart.dispatchEvent(new KeyboardEvent("keydown", {key, cancelable: true}));
        press("ArrowRight"); press("ArrowRight");
        document.title = (document.activeElement === chart) + " " + document.querySelector("#time-out .readout").textContent;
        const tab = document.getElementById("tab-in");
        tab.focus(); tab.click();
        document.body.dataset.shown = getComputedStyle(document.querySelector(".half-in")).display + " " +
            getComputedStyle(document.querySelector(".half-out")).display;
        document.body.dataset.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
        </script>)");
    const BenchResult result = open("--dump-dom --window-size=400,800", "keys.html");
    ASSERT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.out, HasSubstr("<title>true 512 B: Rondo "));
    EXPECT_THAT(result.out, HasSubstr("data-shown=\"block none\""));
    EXPECT_THAT(result.out, HasSubstr("data-wide=\"false\"")) << "a phone must not scroll sideways";
}

TEST_F(BenchReport, DarkModeHasADarkPaper) {
    const std::string page = file_contents(file("report.html"));
    write("paper.html", page + R"(<script>
        document.body.dataset.paper = getComputedStyle(document.body).backgroundColor;</script>)");
    EXPECT_THAT(open("--dump-dom", "paper.html").out,
                HasSubstr("data-paper=\"rgb(255, 255, 255)\""));
    EXPECT_THAT(open("--dump-dom --blink-settings=preferredColorScheme=0", "paper.html").out,
                HasSubstr("data-paper=\"rgb(18, 22, 28)\""));
}

}  // namespace
}  // namespace rondo::testing
