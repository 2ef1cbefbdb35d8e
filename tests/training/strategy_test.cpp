// Strategies as values: JSON there and back, and an error for everything that is wrong.
#include <cmath>

#include "rondo/training/strategy.hpp"
#include "tests/training/random_strategy.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

TEST(TrainingStrategy, IsLocalByDefault) {
    EXPECT_EQ(TrainingStrategy(), TrainingStrategy(Local{}));
    EXPECT_NE(TrainingStrategy(), TrainingStrategy(DataParallel{}));
    EXPECT_EQ(to_string(TrainingStrategy()), "local");
    EXPECT_EQ(to_string(TrainingStrategy(DataParallel{.num_replicas = 4})),
              "data_parallel(4 replicas, weighted_mean)");
    EXPECT_EQ(kind_name(Federated{}), "federated");
    EXPECT_EQ(
        TrainingStrategy(DataParallel{.num_replicas = 3}).get_if<DataParallel>()->num_replicas, 3u);
    EXPECT_EQ(TrainingStrategy().get_if<DataParallel>(), nullptr);
}

TEST(TrainingStrategy, JsonRoundTripOfRandomStrategies) {
    RandomStrategies strategies(17);
    for (int i = 0; i < 3000; ++i) {
        const TrainingStrategy strategy = strategies.next();
        const std::string text = to_json(strategy);
        ASSERT_EQ(training_strategy_from_json(text), strategy) << text;
        ASSERT_EQ(to_json(training_strategy_from_json(text)), text);
        ASSERT_FALSE(to_string(strategy).empty());
    }
}

/// What files hold must not change: a golden text of every variant.
TEST(TrainingStrategy, FieldNamesAreStable) {
    const std::vector<std::pair<TrainingStrategy, std::string>> table{
        {Local{}, R"({"strategy":"local"})"},
        {DataParallel{.num_replicas = 2, .aggregation = GradientAggregation::sum},
         R"({"strategy":"data_parallel","num_replicas":2,"aggregation":"sum"})"},
        {ModelParallel{.partitions = {{{"a", "b"}, 1}},
                       .communication = CommunicationProtocol::through_host,
                       .micro_batches = 4,
                       .pipeline = PipelineKind::gpipe},
         R"({"strategy":"model_parallel","partitions":[{"worker":1,"nodes":["a","b"]}],
             "communication":"through_host","micro_batches":4,"pipeline":"gpipe"})"},
        {Federated{.num_clients = 5,
                   .rounds = 3,
                   .aggregation = Krum{0},
                   .client_selection = SelectRandom{0.7, 2, 9}},
         R"({"strategy":"federated","num_clients":5,"rounds":3,
             "aggregation":{"kind":"krum","byzantine":0},
             "client_selection":{"kind":"random","fraction":0.7,"minimum":2,"seed":9}})"},
        {PopulationBased{.population_size = 6,
                         .generations = 7,
                         .exploit = BinaryTournament{},
                         .explore = Perturb{{0.5, 2}},
                         .hyperparameters = {{"momentum", 0, 0.5, false}}},
         R"({"strategy":"population_based","population_size":6,"generations":7,
             "exploit":{"kind":"binary_tournament"},
             "explore":{"kind":"perturb","factors":[0.5,2]},
             "hyperparameters":[{"name":"momentum","low":0,"high":0.5,"logarithmic":false}]})"},
        {Custom{.coordinator = "mine", .config = R"({"x":1})"},
         R"({"strategy":"custom","coordinator":"mine","config":{"x":1}})"}};
    for (const auto& [strategy, text] : table) {
        EXPECT_EQ(training_strategy_from_json(text), strategy) << text;
    }
}

TEST(TrainingStrategy, FieldsWithDefaultsMayBeLeftOut) {
    EXPECT_EQ(training_strategy_from_json(R"({"strategy":"data_parallel","num_replicas":3})"),
              TrainingStrategy(DataParallel{.num_replicas = 3}));
    EXPECT_EQ(
        training_strategy_from_json(
            R"({"strategy":"federated","num_clients":4,"rounds":2,"aggregation":{"kind":"fed_adam"}})"),
        TrainingStrategy(Federated{.num_clients = 4, .rounds = 2, .aggregation = FedAdam{}}));
}

struct BadJson {
    std::string text;
    std::vector<std::string> words;
};

TEST(TrainingStrategy, EveryBadTextSaysWhatAndWhere) {
    const std::string federated = R"({"strategy":"federated","num_clients":4,"rounds":2,)";
    const std::string population =
        R"({"strategy":"population_based","population_size":4,"generations":2,)";
    const std::vector<BadJson> table{
        {"", {"no JSON"}},
        {"{", {"no JSON"}},
        {"[]", {"must be an object"}},
        {R"({"strategy":"local","strategy":"local"})", {"'strategy' is there twice"}},
        {R"({})", {"lacks the field 'strategy'"}},
        {R"({"strategy":7})", {"/strategy must be a text, it is 7"}},
        {R"({"strategy":"zero_redundancy"})",
         {"/strategy is 'zero_redundancy', which this version does not know", "data_parallel"}},
        {R"({"strategy":"local","extra":1})", {"/extra is a field that is not known"}},
        {R"({"strategy":"data_parallel"})", {"lacks the field 'num_replicas'"}},
        {R"({"strategy":"data_parallel","num_replicas":-1})", {"/num_replicas", "-1"}},
        {R"({"strategy":"data_parallel","num_replicas":0})", {"/num_replicas is 0"}},
        {R"({"strategy":"data_parallel","num_replicas":1.5})", {"/num_replicas", "1.5"}},
        {R"({"strategy":"data_parallel","num_replicas":99999999999})", {"99999999999"}},
        {R"({"strategy":"data_parallel","num_replicas":2,"aggregation":"max"})",
         {"/aggregation is 'max'", "weighted_mean"}},
        {R"({"strategy":"model_parallel","partitions":[]})", {"/partitions must not be empty"}},
        {R"({"strategy":"model_parallel","partitions":{}})", {"/partitions must be a list"}},
        {R"({"strategy":"model_parallel","partitions":[{"worker":0,"nodes":["a",3]}]})",
         {"/partitions/0/nodes/1 must be a text, it is 3"}},
        {R"({"strategy":"model_parallel","partitions":[{"worker":0,"nodes":["a"]},{"worker":1,"nodes":["a"]}]})",
         {"/partitions/1: node 'a' is in two partitions"}},
        {R"({"strategy":"model_parallel","partitions":[{"worker":0,"nodes":["a"],"x":1}]})",
         {"/partitions/0/x is a field"}},
        {R"({"strategy":"model_parallel","partitions":[{"worker":0,"nodes":["a"]}],"micro_batches":0})",
         {"/micro_batches is 0"}},
        {R"({"strategy":"model_parallel","partitions":[{"worker":0,"nodes":["a"]}],"pipeline":"zb"})",
         {"/pipeline is 'zb'", "1f1b"}},
        {R"({"strategy":"federated","num_clients":0,"rounds":2})", {"/num_clients is 0"}},
        {R"({"strategy":"federated","num_clients":2,"rounds":0})", {"/rounds is 0"}},
        {federated + R"("aggregation":{"kind":"bulyan"}})",
         {"/aggregation/kind is 'bulyan'", "fed_median"}},
        {federated + R"("aggregation":{"kind":"fed_avg","mu":1}})", {"/aggregation/mu is a field"}},
        {federated + R"("aggregation":{"kind":"fed_prox","mu":-1}})", {"/aggregation/mu is -1"}},
        {federated + R"("aggregation":{"kind":"fed_trimmed_avg","beta":0.5}})",
         {"/aggregation/beta is 0.5"}},
        {federated + R"("aggregation":{"kind":"krum","byzantine":1}})",
         {"2 * 1 + 3 = 5 clients in a round, there are 4"}},
        {federated + R"("aggregation":{"kind":"multi_krum","keep":5}})",
         {"/aggregation/keep is 5"}},
        {federated + R"("aggregation":{"kind":"fed_avg_m","server_momentum":1}})",
         {"/aggregation/server_momentum is 1"}},
        {federated + R"("aggregation":{"kind":"fed_avg_m","server_learning_rate":0}})",
         {"/aggregation/server_learning_rate is 0"}},
        {federated + R"("aggregation":{"kind":"fed_adam","eta":0}})", {"/aggregation/eta is 0"}},
        {federated + R"("aggregation":{"kind":"fed_adam","beta1":1}})",
         {"/aggregation/beta1 is 1"}},
        {federated + R"("aggregation":{"kind":"fed_adam","beta2":-1}})",
         {"/aggregation/beta2 is -1"}},
        {federated + R"("aggregation":{"kind":"fed_adam","tau":0}})", {"/aggregation/tau is 0"}},
        {federated + R"("client_selection":{"kind":"random","fraction":1.5}})",
         {"/client_selection/fraction is 1.5"}},
        {federated + R"("client_selection":{"kind":"random","minimum":5}})",
         {"/client_selection/minimum is 5", "4"}},
        {federated + R"("client_selection":{"kind":"round_robin","clients_per_round":0}})",
         {"/client_selection/clients_per_round is 0"}},
        {R"({"strategy":"population_based","population_size":0,"generations":2})",
         {"/population_size is 0"}},
        {population + R"("exploit":{"kind":"truncation","fraction":0.6}})",
         {"/exploit/fraction is 0.6"}},
        {population + R"("exploit":{"kind":"cloning"}})", {"/exploit/kind is 'cloning'"}},
        {population + R"("explore":{"kind":"perturb","factors":[]}})",
         {"/explore/factors must not be empty"}},
        {population + R"("explore":{"kind":"perturb","factors":[1,0]}})",
         {"/explore/factors/1 is 0"}},
        {population + R"("explore":{"kind":"perturb","probability":0.5}})",
         {"/explore/probability is a field"}},
        {population + R"("explore":{"kind":"resample","probability":2}})",
         {"/explore/probability is 2"}},
        {population + R"("hyperparameters":[]})", {"/hyperparameters must not be empty"}},
        {population + R"("hyperparameters":[{"name":"layers"}]})",
         {"/hyperparameters/0/name is 'layers'"}},
        {population + R"("hyperparameters":[{"low":0}]})", {"/hyperparameters/0/low is 0"}},
        {population + R"("hyperparameters":[{"low":1,"high":0.5}]})",
         {"/hyperparameters/0/high is 0.5"}},
        {population + R"("hyperparameters":[{},{}]})", {"/hyperparameters/1/name"}},
        {R"({"strategy":"custom","coordinator":""})", {"/coordinator must not be empty"}},
        {R"({"strategy":"custom","coordinator":"x","config":)" + std::string(100, '[') +
             std::string(100, ']') + "}",
         {"nested too deeply"}}};
    for (const BadJson& row : table) {
        SCOPED_TRACE(row.text);
        expect_words(error_of<InvalidArgument>([&] { training_strategy_from_json(row.text); }),
                     row.words);
    }
}

TEST(TrainingStrategy, NumbersThatAreNoneAreRefused) {
    const double nan = std::nan("");
    EXPECT_THROW(validate(Federated{.aggregation = FedProx{nan}}), InvalidArgument);
    EXPECT_THROW(validate(Federated{.aggregation = FedTrimmedAvg{nan}}), InvalidArgument);
    EXPECT_THROW(validate(PopulationBased{.exploit = Truncation{nan}}), InvalidArgument);
    EXPECT_THROW(validate(PopulationBased{.explore = Perturb{{INFINITY}}}), InvalidArgument);
    EXPECT_THROW(validate(Custom{.coordinator = "x", .config = "{"}), InvalidArgument);
}

}  // namespace
}  // namespace rondo::training::test
