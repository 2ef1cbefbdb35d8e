// A strict view of XML elements: every attribute is typed, every message carries line and element.
#pragma once

#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

/// The parsed text; elements refer to it.
class XmlDocument;

/// One element. Cheap to copy; valid as long as the document. All functions throw TopologyError.
class XmlElement {
public:
    XmlElement(const XmlDocument& document, pugi::xml_node node)
        : document_(&document), node_(node) {}

    std::string_view name() const { return node_.name(); }
    bool is(std::string_view name) const { return this->name() == name; }

    /// Child elements in the order of the text.
    std::vector<XmlElement> children() const;
    /// The first child of that name.
    std::optional<XmlElement> child(std::string_view name) const;

    bool has(const char* attribute) const { return !node_.attribute(attribute).empty(); }
    std::string text(const char* attribute) const;
    std::string text_or(const char* attribute, std::string otherwise) const;
    /// Decimal or 0x hexadecimal, between `low` and `high`.
    int integer(const char* attribute, int low, int high) const;
    int integer_or(const char* attribute, int low, int high, int otherwise) const;
    std::optional<int> optional_integer(const char* attribute) const;
    double number(const char* attribute) const;
    /// In lower case, which is how NCCL compares them.
    std::string bus_id(const char* attribute) const;

    /// "line 12, <pci busid="0000:03:00.0">: ..."
    [[noreturn]] void fail(const std::string& what) const;
    [[noreturn]] void fail(const char* attribute, const std::string& what) const;

private:
    const XmlDocument* document_;
    pugi::xml_node node_;
};

/// Owns the text's tree.
class XmlDocument {
public:
    /// Parses with bounds on size, depth, names and attributes. Throws TopologyError with the line.
    explicit XmlDocument(std::string_view text);
    XmlDocument(const XmlDocument&) = delete;
    XmlDocument& operator=(const XmlDocument&) = delete;

    /// The one outermost element.
    XmlElement root() const;
    int line_at(std::ptrdiff_t offset) const;

private:
    void check_elements() const;

    std::string_view text_;
    pugi::xml_document tree_;
};

}  // namespace rondo
