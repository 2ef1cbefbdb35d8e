// A strict view of XML elements, and the parser below it.
#include "topology/xml/element.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "topology/graph/error.hpp"
#include "topology/graph/names.hpp"
#include "topology/graph/text_file.hpp"
#include "topology/graph/validate.hpp"

namespace rondo {
namespace {

constexpr int deepest_nesting = 64;

bool is_element(pugi::xml_node node) {
    return node.type() == pugi::node_element;
}

/// The whole of `text` as a number in `base`.
template <class Number>
std::optional<Number> parsed(std::string_view text, int base) {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, base);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

std::optional<long long> parsed_integer(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
        if (text.substr(2).starts_with('-')) return std::nullopt;
        return parsed<long long>(text.substr(2), 16);
    }
    return parsed<long long>(text, 10);
}

}  // namespace

std::vector<XmlElement> XmlElement::children() const {
    std::vector<XmlElement> result;
    for (const pugi::xml_node node : node_.children()) {
        if (is_element(node)) result.emplace_back(*document_, node);
    }
    return result;
}

std::optional<XmlElement> XmlElement::child(std::string_view name) const {
    for (const XmlElement& element : children()) {
        if (element.is(name)) return element;
    }
    return std::nullopt;
}

std::string XmlElement::text(const char* attribute) const {
    if (!has(attribute)) fail("the attribute " + std::string(attribute) + " is missing");
    const std::string value = node_.attribute(attribute).value();
    if (value.size() > TopologyLimits::text) {
        fail(attribute, "the value has " + std::to_string(value.size()) + " bytes; at most " +
                            std::to_string(TopologyLimits::text) + " are allowed");
    }
    if (!is_printable(value)) fail(attribute, "the value is not printable UTF-8");
    return value;
}

std::string XmlElement::text_or(const char* attribute, std::string otherwise) const {
    return has(attribute) ? text(attribute) : std::move(otherwise);
}

int XmlElement::integer(const char* attribute, int low, int high) const {
    const std::string value = text(attribute);
    const auto number = parsed_integer(value);
    if (!number) fail(attribute, "expected an integer, found " + in_quotes(value));
    if (*number < low || *number > high) {
        fail(attribute, in_quotes(value) + " is not between " + std::to_string(low) + " and " +
                            std::to_string(high));
    }
    return static_cast<int>(*number);
}

int XmlElement::integer_or(const char* attribute, int low, int high, int otherwise) const {
    return has(attribute) ? integer(attribute, low, high) : otherwise;
}

std::optional<int> XmlElement::optional_integer(const char* attribute) const {
    using Int = std::numeric_limits<int>;
    if (!has(attribute)) return std::nullopt;
    return integer(attribute, Int::min(), Int::max());
}

double XmlElement::number(const char* attribute) const {
    const std::string value = text(attribute);
    double number = 0;
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc{} || stop != end || !std::isfinite(number)) {
        fail(attribute, "expected a number, found " + in_quotes(value));
    }
    return number;
}

std::string XmlElement::bus_id(const char* attribute) const {
    std::string value = text(attribute);
    if (!is_bus_id(value)) {
        fail(attribute, in_quotes(value) + " does not look like \"0000:06:00.0\"");
    }
    std::ranges::transform(value, value.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? char(c - 'A' + 'a') : c; });
    return value;
}

void XmlElement::fail(const std::string& what) const {
    std::string element = "<" + std::string(name());
    for (const char* telling : {"busid", "numaid", "dev", "target"}) {
        if (!has(telling)) continue;
        element += " " + std::string(telling) + "=" + in_quotes(node_.attribute(telling).value());
        break;
    }
    throw TopologyError("line " + std::to_string(document_->line_at(node_.offset_debug())) + ", " +
                        element + ">: " + what);
}

void XmlElement::fail(const char* attribute, const std::string& what) const {
    fail(std::string(attribute) + ": " + what);
}

XmlDocument::XmlDocument(std::string_view text) : text_(text) {
    if (text.size() > largest_topology_text) {
        throw TopologyError("the text has " + std::to_string(text.size()) + " bytes; at most " +
                            std::to_string(largest_topology_text) + " are allowed");
    }
    if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
        const auto line = line_at(static_cast<std::ptrdiff_t>(zero));
        throw TopologyError("line " + std::to_string(line) + ": not valid XML: a zero byte");
    }
    const auto result =
        tree_.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!result) {
        throw TopologyError("line " + std::to_string(line_at(result.offset)) +
                            ": not valid XML: " + result.description());
    }
    check_elements();
}

XmlElement XmlDocument::root() const {
    const pugi::xml_node root = tree_.document_element();  // the parser found one
    for (pugi::xml_node next = root.next_sibling(); next; next = next.next_sibling()) {
        if (is_element(next))
            XmlElement(*this, next).fail("there may be only one outermost element");
    }
    return XmlElement(*this, root);
}

int XmlDocument::line_at(std::ptrdiff_t offset) const {
    const auto length = std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text_));
    return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + length, '\n'));
}

void XmlDocument::check_elements() const {
    pugi::xml_node node = tree_.first_child();
    int depth = 1;
    while (node) {
        const XmlElement element(*this, node);
        if (depth > deepest_nesting) {
            element.fail("nested deeper than " + std::to_string(deepest_nesting) + " levels");
        }
        std::set<std::string_view> seen;
        for (const pugi::xml_attribute attribute : node.attributes()) {
            if (!seen.insert(attribute.name()).second) {
                element.fail(in_quotes(attribute.name()) + " is given twice");
            }
        }
        if (node.first_child()) {
            node = node.first_child();
            ++depth;
            continue;
        }
        while (node && !node.next_sibling()) {
            node = node.parent();
            --depth;
        }
        if (node) node = node.next_sibling();
    }
}

}  // namespace rondo
