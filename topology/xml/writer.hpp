// Writes XML the way NCCL's own small parser wants it: no prolog, no tabs, one space between
// attributes, bounded numbers of everything.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rondo {

/// NCCL's parser gives up beyond these. It counts an element more than there are.
struct NcclXmlLimits {
    static constexpr int elements = 255;
    static constexpr int children = 640;
    static constexpr std::size_t attributes = 16;
    static constexpr std::size_t value = 253;
};

using XmlAttributes = std::vector<std::pair<std::string, std::string>>;

/// Elements are opened and closed in order; all functions throw TopologyError beyond the limits.
class XmlWriter {
public:
    void open(std::string_view name, const XmlAttributes& attributes);
    void close();
    /// Call it when everything is closed.
    std::string take() { return std::move(text_); }

private:
    struct Open {
        std::string name;
        int children = 0;
    };

    void end_start_tag();
    void append_attribute(const std::string& element, const std::string& name,
                          const std::string& value);

    std::string text_;
    std::vector<Open> open_;
    int elements_ = 0;
};

}  // namespace rondo
