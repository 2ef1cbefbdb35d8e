// What an export has to make up because NCCL's file needs it and the topology does not tell.
#include "topology/xml/export_numbers.hpp"

#include <array>
#include <cstdio>
#include <map>

#include "topology/xml/extension.hpp"

namespace rondo {

void add_text(XmlAttributes& attributes, const char* name, const std::string& value) {
    if (!value.empty()) attributes.emplace_back(name, value);
}

void add_integer(XmlAttributes& attributes, const char* name, const std::optional<int>& value) {
    if (value) attributes.emplace_back(name, std::to_string(*value));
}

std::string ImpliedWords::or_made_up(const char* attribute, const std::string& known,
                                     const std::string& made_up) {
    if (!known.empty()) return known;
    add(attribute);
    return made_up;
}

void ImpliedWords::add(const std::string& word) {
    words_ += (words_.empty() ? "" : " ") + word;
}

void ImpliedWords::write(XmlAttributes& attributes) const {
    add_text(attributes, extension::implied, words_);
}

ExportNumbers::ExportNumbers(const Topology& topology) {
    std::map<int, int> gpus_of_host;
    for (const Node& node : topology.nodes()) {
        const int usual = node.type == NodeType::gpu ? gpus_of_host[node.host]++ : 0;
        devices_.push_back(node.gpu.rank ? node.gpu.rank->device : usual);
        if (!own_bus_id(node).empty()) used_bus_ids_.insert({node.host, own_bus_id(node)});
        if (node.cpu) used_numa_ids_.insert({node.host, node.cpu->numa_id});
    }
    for (const Node& node : topology.nodes()) bus_ids_.push_back(bus_id_for(node));
}

std::string ExportNumbers::own_bus_id(const Node& node) {
    if (node.type == NodeType::gpu) return node.gpu.bus_id;
    return node.pci ? node.pci->bus_id : "";
}

int ExportNumbers::take_numa_id(int host) {
    int id = 0;
    while (!used_numa_ids_.insert({host, id}).second) ++id;
    return id;
}

std::string ExportNumbers::bus_id_for(const Node& node) {
    if (const std::string known = own_bus_id(node); !known.empty()) return known;
    while (true) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", 0xffffU - (next_ >> 13),
                      (next_ >> 5) & 0xffU, next_ & 0x1fU);
        ++next_;
        if (used_bus_ids_.insert({node.host, text.data()}).second) return text.data();
    }
}

}  // namespace rondo
