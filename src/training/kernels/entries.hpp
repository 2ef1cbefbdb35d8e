// The entries of launch.hpp. Included by exactly one file of each variant of the target.
#pragma once

#include "training/kernels/launch.hpp"
#include "training/kernels/parallel_for.hpp"

namespace rondo::training::kernels {

void launch(StreamRef stream, const DenseForward& body) {
    parallel_for(stream, body, "training_dense_forward");
}

void launch(StreamRef stream, const DenseBackwardInput& body) {
    parallel_for(stream, body, "training_dense_backward_input");
}

void launch(StreamRef stream, const DenseBackwardWeights& body) {
    parallel_for(stream, body, "training_dense_backward_weights");
}

void launch(StreamRef stream, const ActivationForward& body) {
    parallel_for(stream, body, "training_activation_forward");
}

void launch(StreamRef stream, const ActivationBackward& body) {
    parallel_for(stream, body, "training_activation_backward");
}

void launch(StreamRef stream, const MoveColumns& body) {
    parallel_for(stream, body, "training_move_columns");
}

void launch(StreamRef stream, const CrossEntropy& body) {
    parallel_for(stream, body, "training_cross_entropy");
}

void launch(StreamRef stream, const RegressionLoss& body) {
    parallel_for(stream, body, "training_regression_loss");
}

void launch(StreamRef stream, const SumResults& body) {
    parallel_for(stream, body, "training_sum_results");
}

void launch(StreamRef stream, const SgdStep& body) {
    parallel_for(stream, body, "training_sgd_step");
}

void launch(StreamRef stream, const AdamStep& body) {
    parallel_for(stream, body, "training_adam_step");
}

void launch(StreamRef stream, const ProximalTerm& body) {
    parallel_for(stream, body, "training_proximal_term");
}

void launch(StreamRef stream, const Compress<__half>& body) {
    parallel_for(stream, body, "training_compress_f16");
}

void launch(StreamRef stream, const Compress<__nv_bfloat16>& body) {
    parallel_for(stream, body, "training_compress_bf16");
}

void launch(StreamRef stream, const Expand<__half>& body) {
    parallel_for(stream, body, "training_expand_f16");
}

void launch(StreamRef stream, const Expand<__nv_bfloat16>& body) {
    parallel_for(stream, body, "training_expand_bf16");
}

}  // namespace rondo::training::kernels
