// Graphs of work: recorded by capturing streams or built node by node, launched as a whole.
#pragma once

#include <driver_types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "vgpu/command.hpp"
#include "vgpu/operation.hpp"

namespace vgpu {

struct Graph;
struct Stream;

struct GraphNode {
    Graph* graph = nullptr;
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    Command command;
    int device = 0;
    std::vector<GraphNode*> dependencies;
};

/// Something of the user's that lives as long as a graph needs it.
struct UserObject {
    void* pointer = nullptr;
    cudaHostFn_t destroy = nullptr;
    unsigned references = 0;
};

struct Graph {
    std::vector<std::unique_ptr<GraphNode>> nodes;
    ObjectReferences objects;

    GraphNode* add(cudaGraphNodeType type, Command command, int device,
                   std::vector<GraphNode*> dependencies);
    bool contains(const GraphNode* node) const;
    /// Nodes that no other node depends on.
    std::vector<GraphNode*> leaves() const;
    /// Every node after all it depends on; empty if there is a cycle.
    std::vector<GraphNode*> in_order() const;
};

/// A capture in progress, shared by all streams that take part.
struct Capture {
    std::uint64_t id = 0;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    std::thread::id thread;
    Stream* origin = nullptr;
    std::unique_ptr<Graph> graph;
    std::set<Stream*> streams;
    bool invalidated = false;
};

/// A graph ready to launch: a frozen copy of its nodes, dependencies as indices.
struct GraphExec {
    struct Item {
        Command command;
        int device = 0;
        std::vector<std::size_t> dependencies;
        bool leaf = false;
        bool enabled = true;
    };
    std::vector<Item> items;
    std::vector<const GraphNode*>
        origin;  ///< the node each item was made from, for updates by node
    ObjectReferences objects;
    unsigned long long flags = 0;
    OperationPtr last;  ///< end of the last launch: launches of one graph don't overlap
};

/// All graphs, executables and user objects; guarded by the scheduler's lock.
struct GraphTable {
    std::unordered_map<Graph*, std::unique_ptr<Graph>> graphs;
    std::unordered_map<GraphExec*, std::unique_ptr<GraphExec>> executables;
    std::unordered_map<UserObject*, std::unique_ptr<UserObject>> objects;
};

}  // namespace vgpu
