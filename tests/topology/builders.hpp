// Short ways to write nodes and links in tests, and to look at the message of an error.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "topology/graph/error.hpp"
#include "topology/graph/topology.hpp"

namespace rondo::testing {

inline Node make_node(std::string id, NodeType type) {
    Node node;
    node.id = std::move(id);
    node.type = type;
    return node;
}
inline Node gpu(std::string id) {
    return make_node(std::move(id), NodeType::gpu);
}
inline Node cpu(std::string id) {
    return make_node(std::move(id), NodeType::cpu);
}
inline Node a_switch(std::string id) {
    return make_node(std::move(id), NodeType::network_switch);
}
inline Node nic(std::string id) {
    return make_node(std::move(id), NodeType::nic);
}

inline Link one_way(int source, int target, LinkKind kind) {
    Link link;
    link.source = source;
    link.target = target;
    link.kind = kind;
    link.nominal = 25'000'000'000;
    link.nccl = 20'000'000'000;
    return link;
}

inline void connect(std::vector<Link>& links, int a, int b, LinkKind kind) {
    links.push_back(one_way(a, b, kind));
    links.push_back(one_way(b, a, kind));
}

/// The message of the TopologyError that `action` throws; a failure if it throws nothing.
template <class Action>
std::string error_of(Action action) {
    try {
        action();
    } catch (const TopologyError& error) {
        return error.what();
    }
    ADD_FAILURE() << "no TopologyError was thrown";
    return "";
}

}  // namespace rondo::testing
