// What functions do that vgpu does not have: they say so, once each, with the caller's name.
#include <dlfcn.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace {

/// "main of ./program", as far as the file tells.
std::string caller_name(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0) return "somebody";
    std::string name = info.dli_sname != nullptr ? std::string(info.dli_sname) + " of " : "";
    return name + (info.dli_fname != nullptr ? info.dli_fname : "somebody");
}

}  // namespace

/// `reason` is empty where the function may come.
extern "C" int vgpu_absent(const char* name, const char* reason, int result, const void* caller) {
    static auto* const mutex = new std::mutex;
    static auto* const said = new std::set<std::string>;
    const std::scoped_lock lock(*mutex);
    if (said->insert(name).second) {
        std::fprintf(stderr, "vgpu: %s calls %s, %s%s\n", caller_name(caller).c_str(), name,
                     *reason == '\0' ? "which vgpu does not have" : "which vgpu refuses: ", reason);
    }
    return result;
}

extern "C" const char __start_vgpu_stand_ins[],
    __stop_vgpu_stand_ins[];  // the linker's, of the section

/// Whether the function only stands for one that vgpu does not have.
extern "C" bool vgpu_is_stand_in(const void* function) {
    return function >= __start_vgpu_stand_ins && function < __stop_vgpu_stand_ins;
}
