// Writes XML the way NCCL's own small parser wants it.
#include "topology/xml/writer.hpp"

#include "base/markup.hpp"
#include "topology/graph/error.hpp"
#include "topology/graph/names.hpp"
#include "topology/graph/validate.hpp"

namespace rondo {
namespace {

[[noreturn]] void fail(const std::string& what, std::size_t limit) {
    throw TopologyError("NCCL's XML cannot hold this topology: " + what + "; NCCL reads at most " +
                        std::to_string(limit));
}

}  // namespace

void XmlWriter::open(std::string_view name, const XmlAttributes& attributes) {
    end_start_tag();
    if (++elements_ > NcclXmlLimits::elements) {
        fail("it needs more elements", NcclXmlLimits::elements);
    }
    if (!open_.empty() && ++open_.back().children > NcclXmlLimits::children) {
        fail("<" + open_.back().name + "> needs more children", NcclXmlLimits::children);
    }
    if (attributes.size() > NcclXmlLimits::attributes) {
        fail("<" + std::string(name) + "> needs " + std::to_string(attributes.size()) +
                 " attributes",
             NcclXmlLimits::attributes);
    }
    text_.append(2 * open_.size(), ' ').append("<").append(name);
    open_.push_back({std::string(name)});
    for (const auto& [key, value] : attributes) append_attribute(open_.back().name, key, value);
}

void XmlWriter::close() {
    const Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.children == 0) {
        text_ += "/>\n";
    } else {
        text_.append(2 * open_.size(), ' ').append("</").append(closed.name).append(">\n");
    }
}

void XmlWriter::end_start_tag() {
    if (!open_.empty() && open_.back().children == 0) text_ += ">\n";
}

void XmlWriter::append_attribute(const std::string& element, const std::string& name,
                                 const std::string& value) {
    const std::string written = escaped_markup(value);
    if (written.size() > NcclXmlLimits::value) {
        fail("the attribute " + name + " of <" + element + "> has " +
                 std::to_string(written.size()) + " bytes",
             NcclXmlLimits::value);
    }
    if (!is_printable(written)) {
        throw TopologyError("NCCL's XML cannot hold this topology: the attribute " + name +
                            " of <" + element + "> is not printable: " + in_quotes(value));
    }
    text_.append(" ").append(name).append("=\"").append(written).append("\"");
}

}  // namespace rondo
