// CSV files: any bytes are a table or refused; a table is what its class says.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "rondo/training/data.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rondo;
    // The first byte chooses the options.
    const std::uint8_t choice = size > 0 ? data[0] : 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + (size > 0 ? 1 : 0),
                                size > 0 ? size - 1 : 0);
    const training::CsvOptions options{.target = (choice & 1) != 0 ? "0" : "",
                                       .delimiter = (choice & 2) != 0 ? ';' : ',',
                                       .header = static_cast<training::CsvHeader>(choice / 4 % 3),
                                       .task = static_cast<training::CsvTask>(choice / 16 % 3)};
    try {
        const training::Table table = training::read_csv(text, options);
        fuzz::require(table.size() > 0, "a table that was read has samples");
        fuzz::require(table.class_names.size() == table.class_count(), "every class has a name");
        for (std::size_t i = 0; i < table.size(); ++i) {
            const training::Sample sample = table.sample(i);
            for (const float value : sample.features) {
                fuzz::require(std::isfinite(value), "features are numbers");
            }
            fuzz::require(table.class_count() == 0 ||
                              sample.targets[0] < static_cast<float>(table.class_count()),
                          "classes exist");
        }
    } catch (const InvalidArgument& error) {
        fuzz::require(*error.what() != '\0', "errors say something");
    }
    return 0;
}
