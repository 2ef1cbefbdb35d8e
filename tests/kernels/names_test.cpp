// The kernels' mangled names, by which vgpu finds the host body of what nvcc compiled.
#include <dlfcn.h>

#include <gtest/gtest.h>

#include "kernels/kernels.hpp"

namespace rondo::kernels {
namespace {

/// This program exports its symbols, so the dynamic linker knows where each function is.
void expect_symbol(const void* entry, const char* name) {
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), entry) << name;
}

TEST(KernelNames, AreTheCompilersOwn) {
    for (const ElementType type : all_element_types) {
        for (const ReduceOp op : all_reduce_ops) {
            const auto program = find_program_kernel(type, op);
            expect_symbol(program.entry, program.name);
        }
    }
}

}  // namespace
}  // namespace rondo::kernels
