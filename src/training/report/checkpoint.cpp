// The format of checkpoint files, little-endian:
//   "RONDOCKP", u32 version, u64 bytes of the values, the values, u64 checksum of all before it
// Values: for each kind a u64 count, then name and value; texts and arrays with their u64 lengths.
#include "rondo/training/checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "training/data/digest.hpp"
#include "training/data/read_file.hpp"
#include "training/report/seal.hpp"

namespace rondo::training {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view checkpoint_magic = "RONDOCKP";
constexpr std::uint32_t checkpoint_version = 1;
constexpr std::size_t checkpoint_frame = 8 + 4 + 8 + 8;

class ByteWriter {
public:
    template <class Number>
    void number(Number value) {
        raw(&value, sizeof(value));
    }
    void text(const std::string& value) {
        number(std::uint64_t{value.size()});
        raw(value.data(), value.size());
    }
    template <class Element>
    void array(const std::vector<Element>& values) {
        number(std::uint64_t{values.size()});
        raw(values.data(), values.size() * sizeof(Element));
    }
    template <class Map, class Value>
    void map(const Map& values, Value value) {
        number(std::uint64_t{values.size()});
        for (const auto& [name, element] : values) {
            text(name);
            value(element);
        }
    }
    void raw(const void* data, std::size_t size) {
        bytes_.append(static_cast<const char*>(data), size);
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

class ByteReader {
public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

    template <class Number>
    Number number() {
        Number value{};
        std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
        return value;
    }
    std::string text() { return std::string(take(number<std::uint64_t>())); }
    template <class Element>
    std::vector<Element> array() {
        const auto count = number<std::uint64_t>();
        if (count > rest_.size() / sizeof(Element)) fail();
        std::vector<Element> values(count);
        const std::string_view bytes = take(count * sizeof(Element));
        if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }
    template <class Map, class Value>
    void map(Map& values, Value value) {
        for (auto left = number<std::uint64_t>(); left > 0; --left) {
            std::string name = text();
            if (!values.emplace(std::move(name), value()).second) fail();
        }
    }
    void finish() const {
        if (!rest_.empty()) fail();
    }

private:
    std::string_view take(std::uint64_t size) {
        if (size > rest_.size()) fail();
        const std::string_view part = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return part;
    }
    [[noreturn]] static void fail() {
        throw CheckpointError("the values of the checkpoint do not fit together");
    }

    std::string_view rest_;
};

[[noreturn]] void fail_file(const std::string& path, const char* what) {
    const int code = errno;
    throw Error(fmt::format("{}: {} failed: {}", path, what, std::strerror(code)));
}

/// A file descriptor that is closed in any case.
class OpenFile {
public:
    OpenFile(const std::string& path, int flags) : path_(path) {
        descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
        if (descriptor_ < 0) fail_file(path, "opening");
    }
    ~OpenFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    void write(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail_file(path_, "writing");
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    void sync() const {
        if (::fsync(descriptor_) != 0) fail_file(path_, "fsync");
    }

private:
    std::string path_;
    int descriptor_ = -1;
};

template <class Map>
const auto& value_at(const Map& values, const std::string& name) {
    const auto found = values.find(name);
    if (found == values.end()) {
        throw CheckpointError(fmt::format("the checkpoint has no '{}'", name));
    }
    return found->second;
}

}  // namespace

const std::string& Checkpoint::text_at(const std::string& name) const {
    return value_at(text, name);
}
std::uint64_t Checkpoint::count_at(const std::string& name) const {
    return value_at(counts, name);
}
const std::vector<double>& Checkpoint::numbers_at(const std::string& name) const {
    return value_at(numbers, name);
}
const std::vector<float>& Checkpoint::array_at(const std::string& name) const {
    return value_at(arrays, name);
}

std::string to_bytes(const Checkpoint& checkpoint) {
    ByteWriter values;
    values.map(checkpoint.text, [&](const auto& value) { values.text(value); });
    values.map(checkpoint.counts, [&](const auto& value) { values.number(value); });
    values.map(checkpoint.numbers, [&](const auto& value) { values.array(value); });
    values.map(checkpoint.arrays, [&](const auto& value) { values.array(value); });
    return seal_values(values.take());
}

std::string seal_values(std::string_view values) {
    ByteWriter file;
    file.raw(checkpoint_magic.data(), checkpoint_magic.size());
    file.number(checkpoint_version);
    file.number(std::uint64_t{values.size()});
    file.raw(values.data(), values.size());
    std::string bytes = file.take();
    const std::uint64_t sum = digest_of(bytes);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
    return bytes;
}

Checkpoint checkpoint_from_bytes(std::string_view bytes) {
    if (!bytes.starts_with(checkpoint_magic)) throw CheckpointError("this is no checkpoint");
    if (bytes.size() < checkpoint_frame) throw CheckpointError("the checkpoint is cut off");
    ByteReader head(bytes.substr(checkpoint_magic.size()));
    const auto version = head.number<std::uint32_t>();
    if (version != checkpoint_version) {
        throw CheckpointError(fmt::format("the checkpoint is of version {}; version {} is known",
                                          version, checkpoint_version));
    }
    const auto size = head.number<std::uint64_t>();
    if (size != bytes.size() - checkpoint_frame) {
        throw CheckpointError(fmt::format("the checkpoint is cut off: {} bytes instead of {}",
                                          bytes.size() - checkpoint_frame, size));
    }
    std::uint64_t sum = 0;
    std::memcpy(&sum, bytes.data() + bytes.size() - 8, 8);
    if (sum != digest_of(bytes.substr(0, bytes.size() - 8))) {
        throw CheckpointError("the checkpoint is damaged: its checksum is wrong");
    }
    ByteReader values(bytes.substr(checkpoint_frame - 8, size));
    Checkpoint checkpoint;
    values.map(checkpoint.text, [&] { return values.text(); });
    values.map(checkpoint.counts, [&] { return values.number<std::uint64_t>(); });
    values.map(checkpoint.numbers, [&] { return values.array<double>(); });
    values.map(checkpoint.arrays, [&] { return values.array<float>(); });
    values.finish();
    return checkpoint;
}

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
    const std::string fresh = path + ".new";
    {
        const OpenFile file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
        file.write(to_bytes(checkpoint));
        file.sync();
    }
    if (std::rename(fresh.c_str(), path.c_str()) != 0) fail_file(path, "renaming");
    const std::string folder = std::filesystem::path(path).parent_path().string();
    OpenFile(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY).sync();
}

Checkpoint load_checkpoint(const std::string& path) {
    const std::string bytes = read_file(path);
    try {
        return checkpoint_from_bytes(bytes);
    } catch (const CheckpointError& error) {
        throw CheckpointError(fmt::format("{}: {}", path, error.what()));
    }
}

}  // namespace rondo::training
