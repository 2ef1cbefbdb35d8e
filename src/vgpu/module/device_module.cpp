// Choosing, linking and placing PTX.
#include "vgpu/module/device_module.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "vgpu/api.hpp"
#include "vgpu/module/fatbin.hpp"
#include "vgpu/module/ptx_block.hpp"

namespace vgpu {

namespace {

std::string describe_images(const std::vector<FatbinImage>& images) {
    std::vector<std::string> words;
    for (const FatbinImage& each : images) {
        words.push_back(fmt::format("{} for sm_{}",
                                    each.kind == ImageKind::ptx   ? "PTX"
                                    : each.kind == ImageKind::elf ? "machine code"
                                                                  : "something else",
                                    each.architecture));
    }
    return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

/// Said once: the program sees other GPUs than its code is for.
void note_newer_code(int wanted, int architecture) {
    static std::once_flag once;
    std::call_once(once, [&] {
        std::fprintf(stderr,
                     "vgpu: the GPUs are sm_%d and the program has PTX for sm_%d and newer; it "
                     "runs all the same. VGPU_ARCHITECTURE=sm_%d (vgpu-run --architecture) makes "
                     "GPUs that fit.\n",
                     architecture, wanted, wanted);
    });
}

/// The newest PTX that the architecture can run; else the oldest.
const FatbinImage* choose_ptx(const std::vector<FatbinImage>& images, int architecture) {
    const FatbinImage *fits = nullptr, *oldest = nullptr;
    for (const FatbinImage& each : images) {
        if (each.kind != ImageKind::ptx) continue;
        if (oldest == nullptr || each.architecture < oldest->architecture) oldest = &each;
        if (each.architecture > architecture) continue;
        if (fits == nullptr || each.architecture > fits->architecture) fits = &each;
    }
    if (fits == nullptr && oldest != nullptr) note_newer_code(oldest->architecture, architecture);
    return fits != nullptr ? fits : oldest;
}

struct ChosenText {
    std::string text;
    int architecture = 0;
};

ChosenText ptx_of(std::span<const std::byte> fatbin, int architecture) {
    const std::vector<FatbinImage> images = read_fatbin(fatbin);
    const FatbinImage* const chosen = choose_ptx(images, architecture);
    if (chosen == nullptr) {
        throw ApiError{cudaErrorNoKernelImageForDevice,
                       fmt::format("the fatbin has no PTX, which is what vgpu executes; it has {}. "
                                   "Compile with -arch=compute_NN or -arch=sm_NN",
                                   describe_images(images))};
    }
    return {unpack(*chosen), chosen->architecture};
}

std::shared_ptr<DeviceModule> link(const std::vector<ChosenText>& texts) {
    std::vector<std::string_view> views;
    for (const ChosenText& each : texts)
        views.emplace_back(each.text.c_str());  // up to the null that may end it
    try {
        return std::make_shared<DeviceModule>(ptx::Module::load(views), texts[0].architecture);
    } catch (const ptx::Error& error) {
        throw ApiError{cudaErrorInvalidPtx, error.what()};
    }
}

}  // namespace

DeviceModule::DeviceModule(std::shared_ptr<ptx::Module> code, int architecture)
    : code_(std::move(code)), architecture_(architecture), memory_(code_->variables()) {}

std::shared_ptr<DeviceModule> DeviceModule::from_fatbins(
    std::span<const std::span<const std::byte>> fatbins, int architecture) {
    std::vector<ChosenText> texts;
    try {
        for (const auto& each : fatbins) texts.push_back(ptx_of(each, architecture));
    } catch (const FatbinError& error) {
        throw ApiError{cudaErrorInvalidKernelImage, error.what()};
    }
    return link(texts);
}

std::shared_ptr<DeviceModule> DeviceModule::from_text(std::string_view text) {
    return link({{std::string(text)}});
}

KernelDescription DeviceModule::describe(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = described_.find(name); known != described_.end()) return known->second;
    try {
        KernelDescription kernel = describe_ptx_kernel(shared_from_this(), code_->kernel(name));
        kernel.ptx_version = architecture_;
        return described_.emplace(name, kernel).first->second;
    } catch (const ptx::Unsupported& error) {
        throw ApiError{cudaErrorInvalidPtx, fmt::format("kernel {}: {}: {}", name, error.what(),
                                                        fmt::join(error.instructions(), ", "))};
    } catch (const ptx::Error& error) {
        throw ApiError{cudaErrorInvalidPtx, error.what()};
    }
}

std::shared_ptr<ptx::Image> DeviceModule::image(Machine& machine, int device) {
    const std::scoped_lock lock(mutex_);
    if (generation_ != machine.generation()) {
        images_.clear();
        generation_ = machine.generation();
    }
    auto& image = images_[device];
    if (image) return image;
    image = code_->place(device, memory_);
    // Placing writes what variables begin with: where they are one for all, no kernel may have run.
    for (int other = 0; memory_.has_managed() && other < machine.device_count(); ++other)
        if (!images_[other]) images_[other] = code_->place(other, memory_);
    return images_[device];
}

DeviceModule::Variable DeviceModule::variable(Machine& machine, int device, std::string_view name) {
    for (const ptx::VariableInfo& each : code_->variables())
        if (each.name == name) return {image(machine, device)->address(name), each.bytes};
    return {};
}

}  // namespace vgpu
