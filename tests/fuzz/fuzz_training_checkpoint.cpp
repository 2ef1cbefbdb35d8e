// Checkpoints: any bytes are read or refused. The checksum is made right first, so that what lies
// behind it is reached.
#include <cstdint>
#include <string>

#include "rondo/training/checkpoint.hpp"
#include "tests/fuzz/require.hpp"
#include "training/report/seal.hpp"

namespace {

void read(const std::string& bytes) {
    using namespace rondo;
    try {
        const training::Checkpoint checkpoint = training::checkpoint_from_bytes(bytes);
        const std::string written = training::to_bytes(checkpoint);
        fuzz::require(training::to_bytes(training::checkpoint_from_bytes(written)) == written,
                      "bytes there and back");
    } catch (const training::CheckpointError& error) {
        fuzz::require(*error.what() != '\0', "errors say something");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    read(bytes);
    read(rondo::training::seal_values(bytes));
    return 0;
}
