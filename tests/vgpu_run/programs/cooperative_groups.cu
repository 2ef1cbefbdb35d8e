// Groups of threads: tiles, and a grid whose blocks wait for each other.
#include <cooperative_groups.h>

#include <vector>

#include "check.hpp"

namespace cg = cooperative_groups;

__global__ void rotate(int* data, int rounds) {
    const cg::grid_group grid = cg::this_grid();
    const unsigned i = grid.thread_rank(), count = grid.size();
    for (int round = 0; round < rounds; ++round) {
        const int next = data[(i + 1) % count];
        grid.sync();
        data[i] = next;
        grid.sync();
    }
}

__global__ void tile_sums(const int* in, int* out) {
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int offset = 4; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
    if (tile.thread_rank() == 0) out[i / 8] = sum;
}

int main() {
    constexpr int count = 256, rounds = 5;
    std::vector<int> values(count), sums(count / 8);
    for (int i = 0; i < count; ++i) values[i] = i;
    int *data = to_device(values.data(), count), *out = to_device(sums.data(), count / 8);
    int n = rounds;
    void* arguments[] = {&data, &n};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&rotate), dim3(4),
                                      dim3(count / 4), arguments, 0, nullptr),
          "cudaLaunchCooperativeKernel");
    to_host(values.data(), data, count);
    for (int i = 0; i < count; ++i) expect_equal(values[i], (i + rounds) % count, "rotated", i);
    tile_sums<<<2, count / 2>>>(data, out);
    to_host(sums.data(), out, count / 8);
    for (int i = 0; i < count / 8; ++i) {
        int expected = 0;
        for (int j = 0; j < 8; ++j) expected += values[i * 8 + j];
        expect_equal(sums[i], expected, "sum of a tile", i);
    }
    std::printf("cooperative_groups: right\n");
}
