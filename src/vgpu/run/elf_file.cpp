// Section headers, dynamic symbols and needed libraries of ELF files.
#include "vgpu/run/elf_file.hpp"

#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace vgpu::run {

namespace {

/// Reads within bounds; what lies outside is not there.
class ElfFile {
public:
    explicit ElfFile(const std::string& path) : file_(path, std::ios::binary) {
        if (!file_) throw std::system_error(errno, std::generic_category(), path);
        file_.seekg(0, std::ios::end);
        bytes_ = static_cast<std::uint64_t>(file_.tellg());
        const auto header = read<Elf64_Ehdr>(0, 1);
        if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
            header[0].e_ident[EI_CLASS] != ELFCLASS64)
            return;
        valid_ = true;
        sections_ = read<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
        if (header[0].e_shstrndx < sections_.size())
            names_ = text_of(sections_[header[0].e_shstrndx]);
    }

    bool valid() const { return valid_; }
    std::optional<Elf64_Shdr> section(std::string_view name) const {
        for (const Elf64_Shdr& each : sections_)
            if (string_at(names_, each.sh_name) == name) return each;
        return std::nullopt;
    }
    template <class T>
    std::vector<T> contents(const Elf64_Shdr& section) {
        return read<T>(section.sh_offset, section.sh_size / sizeof(T));
    }
    std::string text_of(const Elf64_Shdr& section) {
        const auto characters = contents<char>(section);
        return {characters.begin(), characters.end()};
    }
    static std::string string_at(const std::string& table, std::size_t at) {
        return at < table.size() ? std::string(table.c_str() + at) : std::string();
    }

private:
    template <class T>
    std::vector<T> read(std::uint64_t offset, std::uint64_t count) {
        if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return {};
        std::vector<T> values(count);
        file_.seekg(static_cast<std::streamoff>(offset));
        file_.read(reinterpret_cast<char*>(values.data()),
                   static_cast<std::streamsize>(count * sizeof(T)));
        return file_ ? values : std::vector<T>{};
    }

    std::ifstream file_;
    std::uint64_t bytes_ = 0;
    bool valid_ = false;
    std::vector<Elf64_Shdr> sections_;
    std::string names_;
};

bool asks_for(ElfFile& file, std::string_view symbol) {
    const auto symbols = file.section(".dynsym");
    const auto strings = file.section(".dynstr");
    if (!symbols || !strings) return false;
    const std::string names = file.text_of(*strings);
    for (const Elf64_Sym& each : file.contents<Elf64_Sym>(*symbols))
        if (each.st_shndx == SHN_UNDEF && ElfFile::string_at(names, each.st_name) == symbol)
            return true;
    return false;
}

std::vector<std::string> needed_by(ElfFile& file) {
    const auto entries = file.section(".dynamic");
    const auto strings = file.section(".dynstr");
    if (!entries || !strings) return {};
    const std::string names = file.text_of(*strings);
    std::vector<std::string> needed;
    for (const Elf64_Dyn& each : file.contents<Elf64_Dyn>(*entries))
        if (each.d_tag == DT_NEEDED) needed.push_back(ElfFile::string_at(names, each.d_un.d_val));
    return needed;
}

}  // namespace

CudaUse inspect(const std::string& path) {
    ElfFile file(path);
    CudaUse use;
    use.is_elf = file.valid();
    if (!use.is_elf) return use;
    use.needed = needed_by(file);
    use.has_device_code = file.section(".nvFatBinSegment").has_value();
    use.has_own_runtime = use.has_device_code && !asks_for(file, "__cudaRegisterFatBinary");
    return use;
}

std::vector<std::string> loaded_libraries(const std::string& program) {
    std::string quoted = "'";
    for (const char each : program)
        quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
    FILE* const list =
        popen(("LD_TRACE_LOADED_OBJECTS=1 " + quoted + "' 2>/dev/null").c_str(), "r");
    if (list == nullptr) return {};
    std::vector<std::string> paths;
    char* line = nullptr;
    std::size_t capacity = 0;
    // Lines are like "libm.so.6 => /lib/libm.so.6 (0x7f...)".
    while (getline(&line, &capacity, list) >= 0) {
        const std::string_view text(line);
        const auto begin = text.find("=> /"), end = text.rfind(" (");
        if (begin == text.npos || end == text.npos || end <= begin + 3) continue;
        paths.emplace_back(text.substr(begin + 3, end - begin - 3));
    }
    std::free(line);
    pclose(list);
    return paths;
}

}  // namespace vgpu::run
