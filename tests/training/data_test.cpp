// Tables and CSV files.
#include <algorithm>
#include <cmath>

#include "rondo/training/data.hpp"
#include "rondo/training/optimizer.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

std::vector<float> row(const Table& table, std::size_t i) {
    std::vector<float> values(table.sample(i).features.begin(), table.sample(i).features.end());
    values.push_back(table.sample(i).targets[0]);
    return values;
}

TEST(Csv, NumbersAndClasses) {
    const Table plain = read_csv("1,2,0\n3.5,-4e1,1\n");
    EXPECT_EQ(plain.size(), 2u);
    EXPECT_EQ(plain.class_count(), 2u);
    EXPECT_EQ(row(plain, 1), (std::vector<float>{3.5, -40, 1}));
    const Table named = read_csv("x,y,kind\n1,2,cat\n3,4,ant\n5,6,cat\n");
    EXPECT_EQ(named.feature_names, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(named.class_names, (std::vector<std::string>{"ant", "cat"}));
    EXPECT_EQ(row(named, 0), (std::vector<float>{1, 2, 1}));
    const Table numbers = read_csv("a,b\n1,0.5\n2,1.5\n");
    EXPECT_EQ(numbers.class_count(), 0u);
    EXPECT_EQ(row(numbers, 0), (std::vector<float>{1, 0.5}));
    // Classes are sorted as numbers, not as texts.
    EXPECT_EQ(read_csv("1,10\n1,9\n").class_names, (std::vector<std::string>{"9", "10"}));
}

/// What a file means when nobody says it.
TEST(Csv, GuessesAsPeopleDo) {
    const auto column = [](std::size_t samples, auto target) {
        std::string text = "x,y\n";
        for (std::size_t i = 0; i < samples; ++i) {
            text += std::to_string(i) + "," + std::to_string(target(i)) + "\n";
        }
        return read_csv(text).class_count();
    };
    // Few whole numbers are classes, many are numbers: 214 of 442 in the well-known diabetes data.
    EXPECT_EQ(column(150, [](std::size_t i) { return i % 3; }), 3u);
    EXPECT_EQ(column(442, [](std::size_t i) { return 25 + i % 214; }), 0u);
    EXPECT_EQ(column(1000, [](std::size_t i) { return i % 100; }), 100u);
    EXPECT_EQ(column(1000, [](std::size_t i) { return i % 101; }), 0u);
    EXPECT_EQ(column(40, [](std::size_t i) { return i % 2 == 0 ? -1 : 1; }), 2u);
    // One number in several spellings is one class.
    const Table same = read_csv("5,1\n6,1.0\n7,0\n");
    EXPECT_EQ(same.class_names, (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(same.sample(0).targets[0], same.sample(1).targets[0]);
    // A header of numbers with a name for the target only.
    const Table numbered = read_csv("0,1,target\n5,6,1\n7,8,0\n");
    EXPECT_EQ(numbered.size(), 2u);
    EXPECT_EQ(numbered.feature_names, (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(read_csv("5,6,a\n7,8,b\n").size(), 2u);
    // A first sample of a rare class, whose features can't be names.
    EXPECT_EQ(read_csv("0.5,6,rare\n7,8,1\n9,8,0\n").class_count(), 3u);
    EXPECT_EQ(read_csv("5,5,rare\n7,8,1\n9,8,0\n").size(), 3u);
}

TEST(Csv, OptionsQuotesAndLineEnds) {
    const Table first =
        read_csv("kind,x\r\n\"a \"\"b\"\", c\",1\r\n\r\nd,2\r\n", {.target = "kind"});
    EXPECT_EQ(first.class_names, (std::vector<std::string>{"a \"b\", c", "d"}));
    EXPECT_EQ(first.size(), 2u);
    const Table second = read_csv("1;2;3\n4;5;6", {.target = "0", .delimiter = ';'});
    EXPECT_EQ(row(second, 0), (std::vector<float>{2, 3, 0}));
    const Table third = read_csv("1,2\n3,4\n", {.task = CsvTask::regression});
    EXPECT_EQ(row(third, 1), (std::vector<float>{3, 4}));
    EXPECT_EQ(read_csv("1,2\n3,4\n", {.header = CsvHeader::present}).size(), 1u);
    EXPECT_EQ(read_csv("\xef\xbb\xbf"
                       "1, 2 ,\t0\n")
                  .size(),
              1u);
}

TEST(Csv, EveryBadTextSaysWhere) {
    struct Row {
        std::string text;
        std::vector<std::string> words;
        CsvOptions options = {};
    };
    const std::vector<Row> table{
        {"", {"no lines"}},
        {"\n\n", {"no lines"}},
        {"a,b\n", {"header and no samples"}},
        {"1\n2\n", {"one field", "delimiter"}},
        {"1,2\n3\n", {"line 2 has 1 fields", "line 1 has 2"}},
        {"1,2,0\n1,x,0\n", {"line 2, column 1: 'x'"}},
        {"1,2,0\n1,,0\n", {"line 2, column 1", "missing"}},
        {"1,2,0\n1,nan,0\n", {"line 2, column 1"}},
        {"1,2,0\n1,1e999,0\n", {"line 2, column 1"}},
        {"1,\"2\n", {"line 1", "not closed"}},
        {"\"1\"2,3\n", {"line 1", "behind a closing quote"}},
        {"1,2\n", {"no target column 'y'"}, {.target = "y"}},
        {"1,2\n", {"no target column '2'"}, {.target = "2"}},
        {"x,y\n1,\n", {"line 2, column 1: '' is no class"}, {.task = CsvTask::classification}},
        {"1,0\n2,1\n3,NaN\n", {"line 3, column 1: 'NaN'"}},
        {"1,0\n2,1\n3,\n", {"line 3, column 1"}},
        {"1,0.5\n2,1.5\n3,nan\n", {"line 3, column 1: 'nan'"}},
        {"1,0.5\n2,1.5\n3,cat\n", {"line 3, column 1: 'cat'"}},
        {"1,2,0,\n3,4,1,\n", {"line 1, column 3"}},
        {"1,NaN,0\n2,3,1\n", {"line 1, column 1: 'NaN'"}},
        {"1,,0\n2,3,1\n", {"line 1, column 1", "missing"}},
        {"1,a\n1,2\n1,b\n", {"line 1, column 1: 'a'"}, {.task = CsvTask::regression}}};
    for (const Row& bad : table) {
        SCOPED_TRACE(bad.text);
        expect_words(error_of<InvalidArgument>([&] { read_csv(bad.text, bad.options); }),
                     bad.words);
    }
    expect_words(error_of<Error>([] { load_csv("/does/not/exist.csv"); }), {"exist.csv"});
    expect_words(error_of<Error>([] { load_csv("/"); }), {"the file / can't be read"});
}

TEST(Table, RefusesWhatDoesNotFit) {
    Table table(2, 1, 3);
    const float one[1] = {1}, two[2] = {1, 2}, bad[2] = {1, INFINITY}, kind[1] = {3},
                half[1] = {0.5};
    expect_words(error_of<InvalidArgument>([&] { table.add(one, one); }), {"1 features"});
    expect_words(error_of<InvalidArgument>([&] { table.add(bad, one); }), {"feature 1", "inf"});
    expect_words(error_of<InvalidArgument>([&] { table.add(two, kind); }), {"class 3"});
    expect_words(error_of<InvalidArgument>([&] { table.add(two, half); }), {"class 0.5"});
    expect_words(error_of<InvalidArgument>([] { Table(0, 1); }), {"0 features"});
    expect_words(error_of<InvalidArgument>([] { Table(1, 2, 3); }), {"3 classes"});
}

TEST(Table, SplitAndScaling) {
    Table table(1, 1);
    for (int i = 0; i < 100; ++i) {
        const float x = static_cast<float>(i), y = 0;
        table.add(std::span(&x, 1), std::span(&y, 1));
    }
    const auto [first, second] = split_table(table, 0.25, 3);
    EXPECT_EQ(first.size(), 75u);
    EXPECT_EQ(second.size(), 25u);
    std::vector<bool> seen(100);
    for (const Table* part : {&first, &second}) {
        for (std::size_t i = 0; i < part->size(); ++i) {
            seen[static_cast<std::size_t>(part->sample(i).features[0])] = true;
        }
    }
    EXPECT_EQ(std::ranges::count(seen, true), 100);
    for (const Table* part : {&first, &second}) {
        for (std::size_t i = 1; i < part->size(); ++i) {
            EXPECT_LT(part->sample(i - 1).features[0], part->sample(i).features[0]);
        }
    }
    const Table even = scaled(table, fit_scaling(table));
    EXPECT_NEAR(even.sample(0).features[0], -49.5 / 28.866, 1e-3);
    expect_words(error_of<InvalidArgument>([&] { split_table(table, 1, 3); }), {"1"});
}

/// 0.1 has no end in binary: its mean over many samples is not quite 0.1, and that is no deviation.
TEST(Table, AConstantFeatureIsNotScaledUp) {
    Table table(2, 1);
    for (int i = 0; i < 1000; ++i) {
        const std::vector<float> features{0.1f, static_cast<float>(i)};
        const float y = 0;
        table.add(features, std::span(&y, 1));
    }
    Table other(2, 1);
    const std::vector<float> unseen{0.2f, 3};
    const float y = 0;
    other.add(unseen, std::span(&y, 1));
    const Scaling scaling = fit_scaling(table);
    EXPECT_EQ(scaling.deviation[0], 0);
    EXPECT_GT(scaling.deviation[1], 288);
    EXPECT_EQ(scaled(table, scaling).sample(7).features[0], 0);
    EXPECT_EQ(scaled(other, scaling).sample(0).features[0], 0);
}

TEST(Optimizer, Texts) {
    EXPECT_EQ(parse_optimizer("sgd:lr=0.5,momentum=0.9"), OptimizerSettings(Sgd{0.5, 0.9}));
    EXPECT_EQ(parse_optimizer("adam"), OptimizerSettings(Adam{}));
    for (const char* bad : {"", "lion", "sgd:rate=1", "sgd:lr=x", "sgd:lr", "sgd:momentum=1",
                            "adam:epsilon=0", "sgd:lr=-1", "sgd:lr=nan", "adam:weight_decay=-1"}) {
        EXPECT_THROW(parse_optimizer(bad), InvalidArgument) << bad;
    }
}

}  // namespace
}  // namespace rondo::training::test
