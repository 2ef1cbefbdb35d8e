// What an export has to make up because NCCL's file needs it and the topology does not tell: bus
// ids, NUMA ids, device numbers; and the record of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology/graph/topology.hpp"
#include "topology/xml/writer.hpp"

namespace rondo {

/// Both add nothing where there is no value.
void add_text(XmlAttributes& attributes, const char* name, const std::string& value);
void add_integer(XmlAttributes& attributes, const char* name, const std::optional<int>& value);

/// Collects the names of attributes that were made up, for rondo_implied.
class ImpliedWords {
public:
    /// `known`, or `made_up` and a note of that.
    std::string or_made_up(const char* attribute, const std::string& known,
                           const std::string& made_up);
    void add(const std::string& word);
    void write(XmlAttributes& attributes) const;

private:
    std::string words_;
};

/// Gives every node the numbers that it lacks, without clashes.
class ExportNumbers {
public:
    explicit ExportNumbers(const Topology& topology);

    /// The bus id that the topology knows, or the empty text.
    static std::string own_bus_id(const Node& node);

    const std::string& bus_id(int node) const { return bus_ids_[static_cast<std::size_t>(node)]; }
    /// NCCL's number of a GPU in its machine.
    int device(int node) const { return devices_[static_cast<std::size_t>(node)]; }
    int take_numa_id(int host);

private:
    std::string bus_id_for(const Node& node);

    std::set<std::pair<int, std::string>> used_bus_ids_;
    std::set<std::pair<int, int>> used_numa_ids_;
    std::vector<std::string> bus_ids_;
    std::vector<int> devices_;
    unsigned next_ = 0;
};

}  // namespace rondo
