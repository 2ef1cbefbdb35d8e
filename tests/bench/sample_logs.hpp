// Logs as nccl-tests would have written them, made up by the rules of its format.
#pragma once

#include <string>

namespace rondo::testing {

/// Eight GPUs, two sizes; a warning of the system in between.
inline std::string sample_text_log() {
    return R"(# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 1024 maxBytes 1048576 step: 1024(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on   somehost device  0 [0000:06:00] Tesla V100-SXM2-32GB
#  Rank  1 Group  0 Pid   4711 on   somehost device  1 [0000:07:00] Tesla V100-SXM2-32GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
somehost:4711:4711 [0] NCCL INFO something else on the same stream
        1024           256     float     sum      -1    12.50    0.08    0.08       0    11.25    0.09    0.09       0
     1048576        262144     float     sum      -1  1.2e+02   8.74    8.74       0   100.00   10.49   10.49     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 4.85
#
# Collective test concluded: all_reduce_perf
)";
}

inline std::string sample_json_log() {
    return R"({"version":3,"start_time":"2026-07-01 10:00:00","args":["./build/all_reduce_perf","-g","8"],
"env":["A=b"],"nccl_version":22809,
"config":{"nthreads":1,"ngpus":8,"minimum_bytes":1024,"maximum_bytes":1048576,"step_factor":1024,"warmup_iters":1,
"iterations":20,"aggregated_iterations":1,"validation":1,"graph":0,"blocking_collectives":"false","per_iter_timing":"false",
"per_iter_skip":0,"parallel_init":"false",
"devices":[{"rank":0,"group":0,"pid":4711,"hostname":"somehost","device":0,"device_hex":"0000:06:00","device_info":"NVIDIA H100"}]},
"results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":12.5,"alg_bw":0.08,"bus_bw":0.14,"nwrong":0.0},
"in_place":{"time":"nan","alg_bw":0.09,"bus_bw":0.16,"nwrong":null},"actual_iterations":20,"experiment_name":"all_reduce_perf"},
{"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1","out_of_place":null,
"in_place":{"cpu_time":100.0,"alg_bw":10.49,"bus_bw":18.35,"nwrong":3.0},"actual_iterations":20}],
"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":4.85,"okay":"unchecked"},"errors":[],
"end_time":"2026-07-01 10:00:05"}
)";
}

}  // namespace rondo::testing
