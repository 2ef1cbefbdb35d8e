// Training against a second implementation: the textbook's formulas in plain loops of doubles,
// which shares no code with the library.
#include <cmath>

#include "rondo/training/train.hpp"
#include "samples/synthetic_data.hpp"
#include "tests/training/support.hpp"

namespace rondo::training::test {
namespace {

using Numbers = std::vector<double>;

/// x -> tanh(x W + b) -> softmax(h V + c), with the mean of -log p over a batch as loss.
class Textbook {
public:
    Textbook(std::size_t in, std::size_t hidden, std::size_t out, Numbers start)
        : in_(in),
          hidden_(hidden),
          out_(out),
          p_(std::move(start)),
          first_(p_.size()),
          second_(p_.size()) {}

    /// The gradient of a batch; W, b, V, c lie one behind the other.
    Numbers gradient(const Table& data, std::size_t begin, std::size_t end) const {
        const std::size_t b = in_ * hidden_, v = b + hidden_, c = v + hidden_ * out_;
        const double share = 1.0 / static_cast<double>(end - begin);
        Numbers g(p_.size());
        for (std::size_t s = begin; s < end; ++s) {
            const Sample sample = data.sample(s);
            Numbers h(hidden_), y(out_), dh(hidden_);
            for (std::size_t j = 0; j < hidden_; ++j) {
                double sum = p_[b + j];
                for (std::size_t i = 0; i < in_; ++i) {
                    sum += sample.features[i] * p_[i * hidden_ + j];
                }
                h[j] = std::tanh(sum);
            }
            double total = 0;
            for (std::size_t k = 0; k < out_; ++k) {
                y[k] = p_[c + k];
                for (std::size_t j = 0; j < hidden_; ++j) y[k] += h[j] * p_[v + j * out_ + k];
                total += std::exp(y[k]);
            }
            for (std::size_t k = 0; k < out_; ++k) {
                const double right = static_cast<double>(k) == sample.targets[0] ? 1 : 0;
                const double dy = (std::exp(y[k]) / total - right) * share;
                g[c + k] += dy;
                for (std::size_t j = 0; j < hidden_; ++j) {
                    g[v + j * out_ + k] += dy * h[j];
                    dh[j] += dy * p_[v + j * out_ + k];
                }
            }
            for (std::size_t j = 0; j < hidden_; ++j) {
                const double d = dh[j] * (1 - h[j] * h[j]);
                g[b + j] += d;
                for (std::size_t i = 0; i < in_; ++i) g[i * hidden_ + j] += d * sample.features[i];
            }
        }
        return g;
    }

    void step(const Sgd& sgd, const Numbers& g) {
        for (std::size_t i = 0; i < p_.size(); ++i) {
            first_[i] = sgd.momentum * first_[i] + g[i] + sgd.weight_decay * p_[i];
            p_[i] -= sgd.learning_rate * first_[i];
        }
    }
    void step(const Adam& adam, const Numbers& g) {
        ++steps_;
        for (std::size_t i = 0; i < p_.size(); ++i) {
            const double whole = g[i] + adam.weight_decay * p_[i];
            first_[i] = adam.beta1 * first_[i] + (1 - adam.beta1) * whole;
            second_[i] = adam.beta2 * second_[i] + (1 - adam.beta2) * whole * whole;
            const double mean = first_[i] / (1 - std::pow(adam.beta1, steps_));
            const double square = second_[i] / (1 - std::pow(adam.beta2, steps_));
            p_[i] -= adam.learning_rate * mean / (std::sqrt(square) + adam.epsilon);
        }
    }
    const Numbers& parameters() const { return p_; }

private:
    std::size_t in_, hidden_, out_;
    Numbers p_, first_, second_;
    int steps_ = 0;
};

/// 40 steps. Floats against doubles: 1e-5 of the largest parameter. Adam divides by roots of tiny
/// squares, which makes more of the difference: 1e-4.
TEST(AgainstTheTextbook, EveryStrategyThatStepsTogetherHasItsParameters) {
    const Table data = synthetic::digits(64, 0.3f, 11);
    const Graph graph = dense_network(std::vector<std::uint32_t>{7}, 10);
    const std::vector<float> start = initial_parameters(graph, data, 5);
    const ModelParallel pipeline{.partitions = {{{"dense0"}, 0}, {{"activation0", "dense1"}, 1}},
                                 .micro_batches = 2};
    for (const OptimizerSettings& optimizer : std::vector<OptimizerSettings>{
             Sgd{.learning_rate = 0.2, .momentum = 0.9, .weight_decay = 0.01},
             Adam{.learning_rate = 0.01, .weight_decay = 0.01}}) {
        SCOPED_TRACE(to_string(optimizer));
        Textbook book(64, 7, 10, Numbers(start.begin(), start.end()));
        for (int epoch = 0; epoch < 10; ++epoch) {
            for (std::size_t first = 0; first < 64; first += 16) {
                const Numbers g = book.gradient(data, first, first + 16);
                std::visit([&](const auto& settings) { book.step(settings, g); }, optimizer);
            }
        }
        double scale = 0, moved = 0;
        for (std::size_t i = 0; i < start.size(); ++i) {
            scale = std::max(scale, std::abs(book.parameters()[i]));
            moved = std::max(moved, std::abs(book.parameters()[i] - start[i]));
        }
        EXPECT_GT(moved, 0.1) << "nothing was learnt, so nothing was compared";
        const double bound = std::holds_alternative<Sgd>(optimizer) ? 1e-5 : 1e-4;
        for (const TrainingStrategy& strategy :
             std::vector<TrainingStrategy>{Local{}, DataParallel{4}, pipeline}) {
            SCOPED_TRACE(to_string(strategy));
            const auto trained = train(graph, strategy, data,
                                       {.epochs = 10,
                                        .batch_size = 16,
                                        .optimizer = optimizer,
                                        .seed = 5,
                                        .shuffle = false})
                                     .parameters;
            ASSERT_EQ(trained.size(), start.size());
            double worst = 0;
            for (std::size_t i = 0; i < start.size(); ++i) {
                worst = std::max(worst, std::abs(trained[i] - book.parameters()[i]));
            }
            EXPECT_LT(worst, bound * scale);
        }
    }
}

/// One client's FedProx step by hand: g + mu (w - w_global), two steps from w_global.
TEST(AgainstTheTextbook, TheProximalTermIsMuTimesTheDistance) {
    Table data(1, 1);
    const float x = 2, y = 3;
    data.add(std::span(&x, 1), std::span(&y, 1));
    const double rate = 0.05, mu = 0.5;
    const auto start = initial_parameters(linear_model(1), data, 0);
    Numbers w(start.begin(), start.end());
    for (int step = 0; step < 2; ++step) {
        const double error = 2 * (w[0] * x + w[1] - y);
        const Numbers g{error * x + mu * (w[0] - start[0]), error + mu * (w[1] - start[1])};
        for (std::size_t i = 0; i < 2; ++i) w[i] -= rate * g[i];
    }
    const auto trained =
        train(linear_model(1), Federated{1, 1, FedProx{mu}, SelectAll{}}, data,
              {.batch_size = 1, .optimizer = Sgd{rate}, .federated = {.local_epochs = 2}})
            .parameters;
    ASSERT_EQ(trained.size(), 2u);
    EXPECT_NEAR(trained[0], w[0], 1e-6);
    EXPECT_NEAR(trained[1], w[1], 1e-6);
}

}  // namespace
}  // namespace rondo::training::test
