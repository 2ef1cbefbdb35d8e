// What the parts of the report share: a report to read, text to add to, and the parts themselves.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "bench/tool/result.hpp"

namespace rondo::bench {

class HtmlPart {
public:
    explicit HtmlPart(const Report& report) : report_(report) {}

protected:
    template <class... Values>
    void write(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    }

    const Report& report_;
    std::string out_ = {};
};

/// Charts and tables of what was measured, out of place and in place. Empty without rows.
std::string measured_section(const Report& report);

/// Size x strategy: how much slower than the best, measured and simulated. Empty without a choice.
std::string choice_maps_section(const Report& report);

/// Time and memory against the number of GPUs. Empty unless it was measured.
std::string growth_section(const Report& report);

}  // namespace rondo::bench
