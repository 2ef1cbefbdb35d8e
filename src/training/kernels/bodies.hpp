// Device code of the training layer. A body is a plain struct that computes one item of its output;
// items do not depend on each other, and each is summed up in a fixed order, so results do not
// depend on how many threads share the work. parallel_for.hpp runs a body on a GPU or on vgpu.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#if defined(__CUDACC__)
#define RONDO_TRAINING_DEVICE __host__ __device__ __forceinline__
#else
#define RONDO_TRAINING_DEVICE inline
#endif

namespace rondo::training::kernels {

/// Neighbouring outputs that one item computes: a vector on the host, registers on a GPU.
inline constexpr std::uint32_t tile = 16;

RONDO_TRAINING_DEVICE std::uint64_t tiles_of(std::uint64_t width) {
    return (width + tile - 1) / tile;
}

/// y = x W + b; W is stored as [in][out].
struct DenseForward {
    const float* x;
    const float* weights;
    const float* bias;
    float* y;
    std::uint64_t rows, in, out;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return rows * tiles_of(out); }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return rows * in * out; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t item) const {
        const std::uint64_t row = item / tiles_of(out), first = item % tiles_of(out) * tile;
        if (first + tile <= out) {
            run<true>(row, first, tile);
        } else {
            run<false>(row, first, static_cast<std::uint32_t>(out - first));
        }
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(x, rows * in, false);
        visit(weights, in * out, false);
        visit(bias, out, false);
        visit(y, rows * out, true);
    }

private:
    template <bool whole>
    RONDO_TRAINING_DEVICE void run(std::uint64_t row, std::uint64_t first,
                                   std::uint32_t part) const {
        const std::uint32_t width = whole ? tile : part;
        float sum[tile];
        for (std::uint32_t j = 0; j < width; ++j) sum[j] = bias[first + j];
        for (std::uint64_t k = 0; k < in; ++k) {
            const float value = x[row * in + k];
            const float* const w = weights + k * out + first;
            for (std::uint32_t j = 0; j < width; ++j) sum[j] += value * w[j];
        }
        for (std::uint32_t j = 0; j < width; ++j) y[row * out + first + j] = sum[j];
    }
};

/// dx (+)= dy W^T
struct DenseBackwardInput {
    const float* dy;
    const float* weights;
    float* dx;
    std::uint64_t rows, in, out;
    bool accumulate;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return rows * in; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return rows * in * out; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t item) const {
        const float* const a = dy + item / in * out;
        const float* const b = weights + item % in * out;
        float lanes[8] = {};  // eight sums side by side, so that the host can use its vectors
        std::uint64_t j = 0;
        for (; j + 8 <= out; j += 8) {
            for (std::uint32_t l = 0; l < 8; ++l) lanes[l] += a[j + l] * b[j + l];
        }
        float sum = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                    ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
        for (; j < out; ++j) sum += a[j] * b[j];
        dx[item] = accumulate ? dx[item] + sum : sum;
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(dy, rows * out, false);
        visit(weights, in * out, false);
        visit(dx, rows * in, true);
    }
};

/// dW (+)= x^T dy, and db (+)= the sum of dy's rows, as one more row of W.
struct DenseBackwardWeights {
    const float* x;
    const float* dy;
    float* dweights;
    float* dbias;
    std::uint64_t rows, in, out;
    bool accumulate;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return (in + 1) * tiles_of(out); }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return rows * (in + 1) * out; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t item) const {
        const std::uint64_t k = item / tiles_of(out), first = item % tiles_of(out) * tile;
        if (first + tile <= out) {
            run<true>(k, first, tile);
        } else {
            run<false>(k, first, static_cast<std::uint32_t>(out - first));
        }
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(x, rows * in, false);
        visit(dy, rows * out, false);
        visit(dweights, in * out, true);
        visit(dbias, out, true);
    }

private:
    template <bool whole>
    RONDO_TRAINING_DEVICE void run(std::uint64_t k, std::uint64_t first, std::uint32_t part) const {
        const std::uint32_t width = whole ? tile : part;
        float sum[tile] = {};
        for (std::uint64_t row = 0; row < rows; ++row) {
            const float value = k < in ? x[row * in + k] : 1.0f;
            const float* const d = dy + row * out + first;
            for (std::uint32_t j = 0; j < width; ++j) sum[j] += value * d[j];
        }
        float* const target = (k < in ? dweights + k * out : dbias) + first;
        for (std::uint32_t j = 0; j < width; ++j) {
            target[j] = accumulate ? target[j] + sum[j] : sum[j];
        }
    }
};

enum class Function : std::uint32_t { relu, tanh, sigmoid };

struct ActivationForward {
    const float* x;
    float* y;
    std::uint64_t count;
    Function function;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return count; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return 16 * count; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t i) const {
        const float value = x[i];
        y[i] = function == Function::relu   ? (value > 0 ? value : 0.0f)
               : function == Function::tanh ? tanhf(value)
                                            : 1.0f / (1.0f + expf(-value));
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(x, count, false);
        visit(y, count, true);
    }
};

/// dx (+)= dy * f'(x), from y = f(x).
struct ActivationBackward {
    const float* y;
    const float* dy;
    float* dx;
    std::uint64_t count;
    Function function;
    bool accumulate;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return count; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return 2 * count; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t i) const {
        const float value = y[i];
        const float slope = function == Function::relu   ? (value > 0 ? 1.0f : 0.0f)
                            : function == Function::tanh ? 1.0f - value * value
                                                         : value * (1.0f - value);
        dx[i] = accumulate ? dx[i] + dy[i] * slope : dy[i] * slope;
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(y, count, false);
        visit(dy, count, false);
        visit(dx, count, true);
    }
};

/// Columns of one matrix (+)= columns of another: concatenation and its gradient, and sums.
struct MoveColumns {
    const float* source;
    float* target;
    std::uint64_t rows, width;
    std::uint64_t source_width, source_first;
    std::uint64_t target_width, target_first;
    bool accumulate;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return rows * width; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return rows * width; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t item) const {
        const std::uint64_t row = item / width, column = item % width;
        const float value = source[row * source_width + source_first + column];
        float& result = target[row * target_width + target_first + column];
        result = accumulate ? result + value : value;
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(source, rows * source_width, false);
        visit(target, rows * target_width, true);
    }
};

/// What one sample contributes: its loss, and whether it was right.
struct RowResult {
    double loss;
    double correct;
};

/// Softmax and cross entropy. Targets are class numbers. dlogits may be null.
struct CrossEntropy {
    const float* logits;
    const float* targets;
    float* dlogits;
    RowResult* results;
    std::uint64_t rows, classes;
    float scale;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return rows; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return 16 * rows * classes; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t row) const {
        const float* const z = logits + row * classes;
        const auto target = static_cast<std::uint64_t>(targets[row]);
        std::uint64_t best = 0;
        for (std::uint64_t c = 1; c < classes; ++c) {
            if (z[c] > z[best]) best = c;
        }
        float sum = 0;
        for (std::uint64_t c = 0; c < classes; ++c) sum += expf(z[c] - z[best]);
        results[row] = {static_cast<double>(logf(sum) - (z[target] - z[best])),
                        best == target ? 1.0 : 0.0};
        if (dlogits == nullptr) return;
        for (std::uint64_t c = 0; c < classes; ++c) {
            const float share = expf(z[c] - z[best]) / sum;
            dlogits[row * classes + c] = (share - (c == target ? 1.0f : 0.0f)) * scale;
        }
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(logits, rows * classes, false);
        visit(targets, rows, false);
        visit(results, rows, true);
        if (dlogits != nullptr) visit(dlogits, rows * classes, true);
    }
};

/// The mean over a sample's outputs of (y - t)^2 or |y - t|. dy may be null.
struct RegressionLoss {
    const float* y;
    const float* targets;
    float* dy;
    RowResult* results;
    std::uint64_t rows, width;
    float scale;
    bool absolute;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return rows; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return rows * width; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t row) const {
        double loss = 0;
        const float share = scale / static_cast<float>(width);
        for (std::uint64_t i = row * width; i < (row + 1) * width; ++i) {
            const float error = y[i] - targets[i];
            loss += absolute ? fabs(static_cast<double>(error))
                             : static_cast<double>(error) * static_cast<double>(error);
            const float slope =
                absolute ? static_cast<float>((error > 0) - (error < 0)) : 2.0f * error;
            if (dy != nullptr) dy[i] = slope * share;
        }
        results[row] = {loss / static_cast<double>(width), 0.0};
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(y, rows * width, false);
        visit(targets, rows * width, false);
        visit(results, rows, true);
        if (dy != nullptr) visit(dy, rows * width, true);
    }
};

/// statistics += the sum of the rows, in their order.
struct SumResults {
    const RowResult* results;
    RowResult* statistics;
    std::uint64_t rows;

    RONDO_TRAINING_DEVICE std::uint64_t items() const { return 1; }
    RONDO_TRAINING_DEVICE std::uint64_t cost() const { return rows; }
    RONDO_TRAINING_DEVICE void operator()(std::uint64_t) const {
        RowResult sum = *statistics;
        for (std::uint64_t row = 0; row < rows; ++row) {
            sum.loss += results[row].loss;
            sum.correct += results[row].correct;
        }
        *statistics = sum;
    }
    template <class Visit>
    void regions(Visit visit) const {
        visit(results, rows, false);
        visit(statistics, 1, true);
    }
};

}  // namespace rondo::training::kernels
