// Training strategies in JSON: any bytes are read or refused; what is read is valid and can be
// written and read again.
#include <cstdint>
#include <string_view>

#include "rondo/training/strategy.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rondo;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const training::TrainingStrategy strategy = training::training_strategy_from_json(text);
        const std::string written = to_json(strategy);
        const training::TrainingStrategy again = training::training_strategy_from_json(written);
        fuzz::require(again == strategy, "JSON keeps every value");
        fuzz::require(to_json(again) == written, "the written form is stable");
        fuzz::require(!to_string(strategy).empty(), "every strategy can be printed");
    } catch (const InvalidArgument& error) {
        fuzz::require(*error.what() != '\0', "errors say something");
    }
    return 0;
}
