// Our own attributes in NCCL's files.
#include "topology/xml/extension.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "topology/graph/names.hpp"
#include "topology/graph/units.hpp"

namespace rondo {
namespace {

constexpr std::string_view no_link = "none";

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

template <class Number>
bool parse(std::string_view text, Number& number) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stop == end;
}

std::optional<Link> decode_link(const XmlElement& element, const char* attribute,
                                std::string_view text, LinkKind kind) {
    if (text == no_link) return std::nullopt;
    const auto parts = split(text, ',');
    Link link;
    link.kind = kind;
    bool good = parts.size() == 3 || parts.size() == 4;
    good = good && parse(parts[0], link.count) && parse(parts[1], link.nominal) &&
           parse(parts[2], link.nccl);
    if (good && parts.size() == 4) good = parse(parts[3], link.latency_us.emplace());
    if (!good) element.fail(attribute, in_quotes(text) + " is not \"count,nominal,nccl,latency\"");
    return link;
}

}  // namespace

Link make_link(LinkKind kind, int count, Bandwidth bandwidth) {
    Link link;
    link.kind = kind;
    link.count = count;
    link.nominal = bandwidth.nominal;
    link.nccl = bandwidth.nccl;
    return link;
}

LinkPair both_ways(const Link& link) {
    return {link, link};
}

bool same_apart_from_endpoints(const std::optional<Link>& a, const std::optional<Link>& b) {
    if (!a || !b) return !a && !b;
    Link moved = *a;
    moved.source = b->source;
    moved.target = b->target;
    return moved == *b;
}

std::string encode_link(const std::optional<Link>& link) {
    if (!link) return std::string(no_link);
    std::string text = std::to_string(link->count) + "," + std::to_string(link->nominal) + "," +
                       std::to_string(link->nccl);
    if (link->latency_us) text += "," + shortest(*link->latency_us);
    return text;
}

LinkPair read_links(const XmlElement& element, const LinkPair& expected) {
    LinkPair pair = expected;
    const auto read = [&](const char* attribute, std::optional<Link>& link) {
        if (!element.has(attribute)) return;
        link = decode_link(element, attribute, element.text(attribute), expected.there->kind);
    };
    read(extension::link, pair.there);
    read(extension::back, pair.back);
    return pair;
}

std::optional<SocketLinks> read_socket_links(const XmlElement& cpu) {
    if (!cpu.has(extension::sockets)) return std::nullopt;
    const std::string text = cpu.text(extension::sockets);
    SocketLinks links;
    for (const auto part : split(text, ';')) {
        if (part.empty()) continue;
        const auto equals = part.find('=');
        if (equals == std::string_view::npos) cpu.fail(extension::sockets, "expected numaid=link");
        const auto link =
            decode_link(cpu, extension::sockets, part.substr(equals + 1), LinkKind::inter_socket);
        if (link) links.emplace(part.substr(0, equals), *link);
    }
    return links;
}

std::string encode_socket_links(const SocketLinks& links) {
    std::string text;
    for (const auto& [numa_id, link] : links) {
        text += (text.empty() ? "" : ";") + numa_id + "=" + encode_link(link);
    }
    return text;
}

bool is_implied(const XmlElement& element, std::string_view word) {
    const std::string words = element.text_or(extension::implied, "");
    const auto implied = split(words, ' ');
    return std::ranges::find(implied, word) != implied.end();
}

}  // namespace rondo
