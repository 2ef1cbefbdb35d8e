// Runs a schedule of one's own, read from JSON. It is proved right before it may run; a wrong one
// is refused, with the reason.
//
//     own_schedule own_schedule.json
#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

#include <rondo/communicator.hpp>

namespace {

rondo::Schedule read_schedule(const char* path) {
    std::ifstream file(path);
    if (!file) throw rondo::Error(std::string("can't read ") + path);
    std::stringstream text;
    text << file.rdbuf();
    return rondo::schedule_from_json(text.str());
}

void sum_by(rondo::Communicator& comm, std::uint32_t schedule) {
    std::vector<std::int32_t> host(12'345);
    const std::size_t bytes = host.size() * sizeof(host[0]);
    std::vector<rondo::Tensor<std::int32_t>> tensors;
    for (int r = 0; r < comm.size(); ++r) {
        tensors.push_back(rondo::Tensor<std::int32_t>::allocate(comm.device(r), host.size()));
        host.assign(host.size(), 20 + r);
        cudaMemcpy(tensors.back().data(), host.data(), bytes, cudaMemcpyDefault);
    }
    comm.all_reduce(rondo::ReduceOp::sum, rondo::PerReplica<std::int32_t>(tensors),
                    {.schedule = schedule})
        .wait();
    for (const auto& tensor : tensors) {
        cudaMemcpy(host.data(), tensor.data(), bytes, cudaMemcpyDefault);
        for (const std::int32_t value : host) {
            if (value != 20 + 21) throw rondo::Error("wrong sum");
        }
    }
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) throw rondo::Error("give the path of a schedule, own_schedule.json");
    rondo::Schedule schedule = read_schedule(argv[1]);
    std::printf("%s", to_string(schedule).c_str());
    const rondo::Verification verification = verify(schedule);
    std::printf("proof: %s\n", verification ? "it is right" : verification.problem.c_str());

    rondo::Communicator comm = rondo::Communicator::create({.devices = {0, 1}});
    sum_by(comm, comm.add_schedule(schedule));
    std::printf("it ran, and every sum is right\n");

    // Rank 1 forgets to add its own input.
    rondo::Step& last = schedule.lanes.back().steps.back();
    last.sources.erase(last.sources.begin());
    try {
        comm.add_schedule(schedule);
    } catch (const rondo::InvalidArgument& error) {
        std::printf("a wrong one is refused: %s\n", error.what());
        return 0;
    }
    throw rondo::Error("a wrong schedule was taken");
} catch (const std::exception& error) {
    std::fprintf(stderr, "own_schedule: %s\n", error.what());
    return 1;
}
