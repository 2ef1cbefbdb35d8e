// Saved logs of nccl-tests: any bytes are read or refused; what is read has sensible rows.
#include <string_view>

#include "bench/tool/nccl_log.hpp"
#include "rondo/error.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rondo;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const bench::NcclLog log = bench::parse_nccl_log(text);
        fuzz::require(!log.rows.empty(), "a log that is taken has rows");
        fuzz::require(log.ranks >= 0, "there is no negative number of ranks");
    } catch (const InvalidArgument& error) {
        fuzz::require(*error.what() != '\0', "errors say something");
    }
    return 0;
}
