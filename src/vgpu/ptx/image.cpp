// A module's variables on one device.
#include <algorithm>
#include <cstring>

#include "vgpu/ptx/block_run.hpp"
#include "vgpu/ptx/module.hpp"

namespace vgpu::ptx {
namespace {

class DeviceImage final : public PlacedImage {
public:
    DeviceImage(std::shared_ptr<const Module> owner, const LinkedModule& module, int device,
                DeviceMemory& memory)
        : owner_(std::move(owner)),
          module_(module),
          device_(device),
          memory_(memory),
          storage_(std::make_unique<std::byte[]>(module.variable_count() * special_bytes + 64)) {
        lanes_ = storage_.get() + (0 - reinterpret_cast<std::uintptr_t>(storage_.get())) % 64;
        const auto count = static_cast<std::uint32_t>(module.variable_count());
        try {
            for (std::uint32_t i = 0; i < count; ++i) allocate(i);
            for (std::uint32_t i = 0; i < count; ++i) initialise(i);
        } catch (...) {
            release();
            throw;
        }
    }
    ~DeviceImage() override { release(); }
    DeviceImage(const DeviceImage&) = delete;
    DeviceImage& operator=(const DeviceImage&) = delete;

    void* address(std::string_view variable) const override {
        for (std::uint32_t i = 0; i < addresses_.size(); ++i) {
            if (module_.variable(i).name == variable) return addresses_[i];
        }
        return nullptr;
    }
    std::byte* lanes() const override { return lanes_; }

private:
    void allocate(std::uint32_t index) {
        const Variable& variable = module_.variable(index);
        void* const memory =
            memory_.allocate(device_, std::max<std::size_t>(variable.bytes, 1),
                             std::max<std::size_t>(variable.alignment, 16), variable.name);
        addresses_.push_back(memory);
        auto* const lanes = reinterpret_cast<std::uint64_t*>(lanes_ + index * special_bytes);
        std::fill_n(lanes, warp_lanes, reinterpret_cast<std::uint64_t>(memory));
    }

    void initialise(std::uint32_t index) {
        const Variable& variable = module_.variable(index);
        auto* const memory = static_cast<std::byte*>(addresses_[index]);
        std::copy(variable.initial.begin(), variable.initial.end(), memory);
        for (const Relocation& relocation : variable.relocations) {
            const std::uint64_t value = value_of(module_.variable_text(index), relocation) +
                                        static_cast<std::uint64_t>(relocation.offset);
            if (relocation.at + relocation.bytes <= variable.bytes)
                std::memcpy(memory + relocation.at, &value,
                            std::min<std::size_t>(relocation.bytes, 8));
        }
    }

    std::uint64_t value_of(std::size_t text, const Relocation& relocation) const {
        const Symbol symbol = module_.find(text, relocation.symbol);
        switch (symbol.kind) {
            case Symbol::Kind::variable:
                return reinterpret_cast<std::uint64_t>(addresses_[symbol.index]);
            case Symbol::Kind::function:
                return function_address(symbol.index);
            case Symbol::Kind::shared:
                return symbol.offset;
            default:
                throw Error("'" + relocation.symbol + "' in an initial value is not defined");
        }
    }

    void release() {
        for (void* const memory : addresses_) memory_.release(device_, memory);
        addresses_.clear();
    }

    std::shared_ptr<const Module> owner_;
    const LinkedModule& module_;
    int device_;
    DeviceMemory& memory_;
    std::vector<void*> addresses_;
    std::unique_ptr<std::byte[]> storage_;
    std::byte* lanes_ = nullptr;
};

}  // namespace

std::shared_ptr<Image> LinkedModule::place(int device, DeviceMemory& memory) const {
    return std::make_shared<DeviceImage>(shared_from_this(), *this, device, memory);
}

}  // namespace vgpu::ptx
