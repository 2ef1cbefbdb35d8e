// Starts the device code of the training layer. Every call only enqueues; what the arguments point
// to must live until the stream has passed it.
#pragma once

#include "cuda/stream.hpp"
#include "training/kernels/update_bodies.hpp"

namespace rondo::training::kernels {

void launch(StreamRef stream, const DenseForward& body);
void launch(StreamRef stream, const DenseBackwardInput& body);
void launch(StreamRef stream, const DenseBackwardWeights& body);
void launch(StreamRef stream, const ActivationForward& body);
void launch(StreamRef stream, const ActivationBackward& body);
void launch(StreamRef stream, const MoveColumns& body);
void launch(StreamRef stream, const CrossEntropy& body);
void launch(StreamRef stream, const RegressionLoss& body);
void launch(StreamRef stream, const SumResults& body);
void launch(StreamRef stream, const SgdStep& body);
void launch(StreamRef stream, const AdamStep& body);
void launch(StreamRef stream, const ProximalTerm& body);
void launch(StreamRef stream, const Compress<__half>& body);
void launch(StreamRef stream, const Compress<__nv_bfloat16>& body);
void launch(StreamRef stream, const Expand<__half>& body);
void launch(StreamRef stream, const Expand<__nv_bfloat16>& body);

}  // namespace rondo::training::kernels
