#include "communicator/graph_retention.hpp"

#include <mutex>

#include "cuda/check.hpp"
#include "cuda/graph.hpp"

namespace rondo::detail {
namespace {

struct Released {
    std::mutex mutex;
    std::vector<std::unique_ptr<KeptByGraph>> list;
};

Released& released() {
    static Released* const all = new Released;  // never destroyed: graphs may end at any time
    return *all;
}

void release_from_graph(void* data) {
    const std::lock_guard lock(released().mutex);
    released().list.emplace_back(static_cast<KeptByGraph*>(data));
}

}  // namespace

void retain_in_graph(StreamRef stream, std::unique_ptr<KeptByGraph> kept) {
    cudaUserObject_t object = nullptr;
    check(cudaUserObjectCreate(&object, kept.get(), release_from_graph, 1,
                               cudaUserObjectNoDestructorSync),
          "cudaUserObjectCreate");
    kept.release();
    check(
        cudaGraphRetainUserObject(graph_being_captured(stream), object, 1, cudaGraphUserObjectMove),
        "cudaGraphRetainUserObject");
}

void free_released_by_graphs() {
    std::vector<std::unique_ptr<KeptByGraph>> list;
    const std::lock_guard lock(released().mutex);
    list.swap(released().list);
}

}  // namespace rondo::detail
