// Graphs: building, instantiating, launching, and the user objects they keep alive.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "vgpu/api.hpp"
#include "vgpu/launch.hpp"

using namespace vgpu;

namespace {

Graph& graph_at(Machine& machine, cudaGraph_t handle) {
    auto* graph = reinterpret_cast<Graph*>(handle);
    if (machine.graphs.graphs.contains(graph)) return *graph;
    for (Capture* capture : machine.active_captures) {
        if (capture->graph.get() == graph) return *graph;
    }
    throw ApiError{cudaErrorInvalidValue, "the graph does not exist"};
}

GraphExec& executable_at(Machine& machine, cudaGraphExec_t handle) {
    auto* executable = reinterpret_cast<GraphExec*>(handle);
    require(machine.graphs.executables.contains(executable), "the executable graph does not exist");
    return *executable;
}

GraphNode& node_at(Machine& machine, cudaGraphNode_t handle) {
    auto* node = reinterpret_cast<GraphNode*>(handle);
    for (const auto& [key, graph] : machine.graphs.graphs) {
        if (graph->contains(node)) return *node;
    }
    throw ApiError{cudaErrorInvalidValue, "the node does not exist"};
}

UserObject& object_at(Machine& machine, cudaUserObject_t handle) {
    auto* object = reinterpret_cast<UserObject*>(handle);
    require(machine.graphs.objects.contains(object), "the user object does not exist");
    return *object;
}

std::unique_ptr<GraphExec> instantiate(const Graph& graph) {
    const auto order = graph.in_order();
    require(order.size() == graph.nodes.size(), "the graph has a cycle");
    auto executable = std::make_unique<GraphExec>();
    std::unordered_map<const GraphNode*, std::size_t> index;
    for (const GraphNode* node : order) {
        GraphExec::Item item{node->command, node->device, {}, true, true};
        for (const GraphNode* dependency : node->dependencies) {
            item.dependencies.push_back(index.at(dependency));
            executable->items[index.at(dependency)].leaf = false;
        }
        index[node] = executable->items.size();
        executable->items.push_back(std::move(item));
        executable->origin.push_back(node);
    }
    return executable;
}

constexpr unsigned long long instantiate_flags =
    cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
    cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority;

cudaError_t instantiate_graph(const char* function, cudaGraphExec_t* handle,
                              cudaGraph_t graph_handle, unsigned long long flags) {
    return api(function, [&](Machine& machine) {
        require(handle != nullptr, "pGraphExec is null");
        require((flags & ~instantiate_flags) == 0, "flags has unknown bits");
        std::scoped_lock lock(machine.scheduler().mutex());
        Graph& graph = graph_at(machine, graph_handle);
        auto executable = instantiate(graph);
        executable->flags = flags;
        executable->objects = graph.objects;
        for (const auto& [object, count] : graph.objects) object->references += count;
        *handle = reinterpret_cast<cudaGraphExec_t>(executable.get());
        machine.graphs.executables.emplace(executable.get(), std::move(executable));
        return cudaSuccess;
    });
}

/// Issues every node after those it depends on (roots after the stream's order), then an end on the
/// stream.
void launch_graph(Machine& machine, GraphExec& executable, Stream& stream) {
    OperationPtr begin = issue(machine, stream, MarkerCommand{}, {&executable.last, 1});
    std::vector<OperationPtr> operations;
    std::vector<OperationPtr> leaves{begin};
    for (const GraphExec::Item& item : executable.items) {
        std::vector<OperationPtr> after;
        for (const std::size_t dependency : item.dependencies)
            after.push_back(operations[dependency]);
        if (after.empty()) after.push_back(begin);
        OperationPtr operation = Operation::make(
            item.device, item.enabled ? Command(item.command) : Command(MarkerCommand{}));
        operation->priority = stream.priority;
        if (const auto* event = std::get_if<EventCommand>(&item.command)) {
            if (event->record) {
                event->event->recorded = operation;
            } else {
                after.push_back(event->event->recorded);
            }
        }
        machine.scheduler().submit(operation, after);
        if (item.leaf) leaves.push_back(operation);
        operations.push_back(std::move(operation));
    }
    executable.last = issue(machine, stream, MarkerCommand{}, leaves);
}

/// While another stream captures this launch, the nodes become part of that capture.
void capture_graph(Stream& stream, const GraphExec& executable) {
    std::vector<GraphNode*> nodes;
    std::vector<GraphNode*> leaves;
    for (std::size_t i = 0; i < executable.items.size(); ++i) {
        const GraphExec::Item& item = executable.items[i];
        std::vector<GraphNode*> after;
        for (const std::size_t dependency : item.dependencies) after.push_back(nodes[dependency]);
        if (after.empty()) after = stream.capture_tail;
        nodes.push_back(stream.capture->graph->add(executable.origin[i]->type, item.command,
                                                   item.device, after));
        if (item.leaf) leaves.push_back(nodes.back());
    }
    if (!leaves.empty()) stream.capture_tail = leaves;
}

template <class Make>
cudaError_t add_node(const char* function, cudaGraphNode_t* handle, cudaGraph_t graph_handle,
                     std::span<const cudaGraphNode_t> dependencies, Make make) {
    return api(function, [&](Machine& machine) {
        require(handle != nullptr, "pGraphNode is null");
        const Device& device = current_device(machine);
        std::scoped_lock lock(machine.scheduler().mutex());
        Graph& graph = graph_at(machine, graph_handle);
        std::vector<GraphNode*> after;
        for (const cudaGraphNode_t dependency : dependencies) {
            auto* node = reinterpret_cast<GraphNode*>(dependency);
            require(graph.contains(node), "a dependency is not a node of the graph");
            require(std::find(after.begin(), after.end(), node) == after.end(),
                    "a dependency is named twice");
            after.push_back(node);
        }
        auto [type, command] = make(machine, device);
        *handle = reinterpret_cast<cudaGraphNode_t>(
            graph.add(type, std::move(command), device.index, std::move(after)));
        return cudaSuccess;
    });
}

using Made = std::pair<cudaGraphNodeType, Command>;

KernelCommand kernel_command(const Device& device, const cudaKernelNodeParams& parameters) {
    KernelCommand command;
    const Kernel& kernel = kernel_at(parameters.func);
    command.kernel = &kernel;
    command.grid = parameters.gridDim;
    command.block = parameters.blockDim;
    command.dynamic_shared_bytes = parameters.sharedMemBytes;
    require(parameters.kernelParams != nullptr || kernel.description.argument_count == 0,
            "kernelParams is null");
    command.arguments.assign(kernel.description, parameters.kernelParams);
    check_launch(device, command);
    return command;
}

/// CUDA's way to return lists: fills up to *count entries, or only tells how many there are.
void return_nodes(const std::vector<GraphNode*>& nodes, cudaGraphNode_t* out, std::size_t* count) {
    require(count != nullptr, "the pointer to the number is null");
    if (out != nullptr) {
        for (std::size_t i = 0; i < *count; ++i)
            out[i] = i < nodes.size() ? reinterpret_cast<cudaGraphNode_t>(nodes[i]) : nullptr;
    }
    *count = out == nullptr ? nodes.size() : std::min(*count, nodes.size());
}

}  // namespace

#pragma GCC visibility push(default)  // what programs link to
extern "C" {

cudaError_t CUDARTAPI cudaGraphCreate(cudaGraph_t* handle, unsigned int flags) {
    return api("cudaGraphCreate", [&](Machine& machine) {
        require(handle != nullptr && flags == 0, "pGraph is null or flags is not 0");
        std::scoped_lock lock(machine.scheduler().mutex());
        auto graph = std::make_unique<Graph>();
        *handle = reinterpret_cast<cudaGraph_t>(graph.get());
        machine.graphs.graphs.emplace(graph.get(), std::move(graph));
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t handle) {
    return api("cudaGraphDestroy", [&](Machine& machine) {
        std::scoped_lock lock(machine.scheduler().mutex());
        Graph& graph = graph_at(machine, handle);
        machine.release_objects(graph.objects);
        machine.graphs.graphs.erase(&graph);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count,
                                             const cudaKernelNodeParams* parameters) {
    return add_node("cudaGraphAddKernelNode", node, graph, {dependencies, count},
                    [&](Machine&, const Device& device) {
                        require(parameters != nullptr, "pNodeParams is null");
                        return Made{cudaGraphNodeTypeKernel, kernel_command(device, *parameters)};
                    });
}

cudaError_t CUDARTAPI cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count,
                                           const cudaHostNodeParams* parameters) {
    return add_node(
        "cudaGraphAddHostNode", node, graph, {dependencies, count}, [&](Machine&, const Device&) {
            require(parameters != nullptr && parameters->fn != nullptr,
                    "pNodeParams or its function is null");
            return Made{
                cudaGraphNodeTypeHost,
                HostFunctionCommand{.function = parameters->fn, .user_data = parameters->userData}};
        });
}

cudaError_t CUDARTAPI cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                            const cudaGraphNode_t* dependencies, size_t count) {
    return add_node("cudaGraphAddEmptyNode", node, graph, {dependencies, count},
                    [&](Machine&, const Device&) {
                        return Made{cudaGraphNodeTypeEmpty, MarkerCommand{}};
                    });
}

cudaError_t CUDARTAPI cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* dependencies, size_t count,
                                                  cudaEvent_t event) {
    return add_node(
        "cudaGraphAddEventRecordNode", node, graph, {dependencies, count},
        [&](Machine& machine, const Device&) {
            return Made{cudaGraphNodeTypeEventRecord, EventCommand{event_at(machine, event), true}};
        });
}

cudaError_t CUDARTAPI cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                const cudaGraphNode_t* dependencies, size_t count,
                                                cudaEvent_t event) {
    return add_node(
        "cudaGraphAddEventWaitNode", node, graph, {dependencies, count},
        [&](Machine& machine, const Device&) {
            return Made{cudaGraphNodeTypeWaitEvent, EventCommand{event_at(machine, event), false}};
        });
}

cudaError_t CUDARTAPI cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
    return api("cudaGraphNodeGetType", [&](Machine& machine) {
        require(type != nullptr, "pType is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        *type = node_at(machine, handle).type;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
    return api("cudaGraphGetNodes", [&](Machine& machine) {
        std::scoped_lock lock(machine.scheduler().mutex());
        std::vector<GraphNode*> all;
        for (const auto& node : graph_at(machine, handle).nodes) all.push_back(node.get());
        return_nodes(all, nodes, count);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes,
                                            size_t* count) {
    return api("cudaGraphGetRootNodes", [&](Machine& machine) {
        std::scoped_lock lock(machine.scheduler().mutex());
        std::vector<GraphNode*> roots;
        for (const auto& node : graph_at(machine, handle).nodes) {
            if (node->dependencies.empty()) roots.push_back(node.get());
        }
        return_nodes(roots, nodes, count);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           unsigned long long flags) {
    return instantiate_graph("cudaGraphInstantiate", executable, graph, flags);
}

cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                    unsigned long long flags) {
    return instantiate_graph("cudaGraphInstantiateWithFlags", executable, graph, flags);
}

cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t handle) {
    return api("cudaGraphExecDestroy", [&](Machine& machine) {
        std::scoped_lock lock(machine.scheduler().mutex());
        GraphExec& executable = executable_at(machine, handle);
        const auto owned = std::move(machine.graphs.executables.at(&executable));
        machine.graphs.executables.erase(&executable);
        // After the last launch, which may still run.
        const OperationPtr release = Operation::make(0, ReleaseCommand{owned->objects});
        machine.scheduler().submit(release, {&owned->last, 1});
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream) {
    return api("cudaGraphUpload", [&](Machine& machine) {
        std::scoped_lock lock(machine.scheduler().mutex());
        executable_at(machine, handle);
        stream_at(machine, stream);
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
    return api("cudaGraphLaunch", [&](Machine& machine) {
        note_effect(CallEffect::launches);
        std::scoped_lock lock(machine.scheduler().mutex());
        GraphExec& executable = executable_at(machine, handle);
        Stream& stream = stream_at(machine, stream_handle);
        if (stream.capture) {
            if (stream.capture->invalidated)
                throw ApiError{cudaErrorStreamCaptureInvalidated, "the capture was invalidated"};
            capture_graph(stream, executable);
        } else {
            launch_graph(machine, executable, stream);
        }
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphExecKernelNodeSetParams(cudaGraphExec_t handle, cudaGraphNode_t node,
                                                       const cudaKernelNodeParams* parameters) {
    return api("cudaGraphExecKernelNodeSetParams", [&](Machine& machine) {
        require(parameters != nullptr, "pNodeParams is null");
        std::scoped_lock lock(machine.scheduler().mutex());
        GraphExec& executable = executable_at(machine, handle);
        const auto found = std::find(executable.origin.begin(), executable.origin.end(),
                                     reinterpret_cast<GraphNode*>(node));
        require(found != executable.origin.end(), "the executable was not made from that node");
        GraphExec::Item& item =
            executable.items[static_cast<std::size_t>(found - executable.origin.begin())];
        require(std::holds_alternative<KernelCommand>(item.command), "the node is not a kernel");
        item.command = kernel_command(machine.device(item.device), *parameters);
        return cudaSuccess;
    });
}

// ---- user objects
// ---------------------------------------------------------------------------------------------------------

cudaError_t CUDARTAPI cudaUserObjectCreate(cudaUserObject_t* handle, void* pointer,
                                           cudaHostFn_t destroy, unsigned int references,
                                           unsigned int flags) {
    return api("cudaUserObjectCreate", [&](Machine& machine) {
        require(handle != nullptr && destroy != nullptr, "object_out or destroy is null");
        require(references > 0, "initialRefcount is 0");
        require(flags == cudaUserObjectNoDestructorSync,
                "flags must be cudaUserObjectNoDestructorSync");
        std::scoped_lock lock(machine.scheduler().mutex());
        auto object = std::make_unique<UserObject>(UserObject{pointer, destroy, references});
        *handle = reinterpret_cast<cudaUserObject_t>(object.get());
        machine.graphs.objects.emplace(object.get(), std::move(object));
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaUserObjectRetain(cudaUserObject_t handle, unsigned int count) {
    return api("cudaUserObjectRetain", [&](Machine& machine) {
        require(count > 0, "count is 0");
        std::scoped_lock lock(machine.scheduler().mutex());
        object_at(machine, handle).references += count;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaUserObjectRelease(cudaUserObject_t handle, unsigned int count) {
    return api("cudaUserObjectRelease", [&](Machine& machine) {
        require(count > 0, "count is 0");
        std::scoped_lock lock(machine.scheduler().mutex());
        machine.release_objects({{&object_at(machine, handle), count}});
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t handle,
                                                unsigned int count, unsigned int flags) {
    return api("cudaGraphRetainUserObject", [&](Machine& machine) {
        require(count > 0, "count is 0");
        require((flags & ~static_cast<unsigned>(cudaGraphUserObjectMove)) == 0,
                "flags has unknown bits");
        std::scoped_lock lock(machine.scheduler().mutex());
        UserObject& object = object_at(machine, handle);
        graph_at(machine, graph).objects.emplace_back(&object, count);
        if ((flags & cudaGraphUserObjectMove) == 0) object.references += count;
        return cudaSuccess;
    });
}

cudaError_t CUDARTAPI cudaGraphReleaseUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                                 unsigned int count) {
    return api("cudaGraphReleaseUserObject", [&](Machine& machine) {
        std::scoped_lock lock(machine.scheduler().mutex());
        UserObject& object = object_at(machine, handle);
        auto& held = graph_at(machine, graph_handle).objects;
        const auto found = std::find_if(held.begin(), held.end(),
                                        [&](const auto& each) { return each.first == &object; });
        require(found != held.end() && found->second >= count && count > 0,
                "the graph does not hold so many references");
        found->second -= count;
        if (found->second == 0) held.erase(found);
        machine.release_objects({{&object, count}});
        return cudaSuccess;
    });
}

}  // extern "C"
#pragma GCC visibility pop
