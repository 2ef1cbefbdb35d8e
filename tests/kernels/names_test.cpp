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
            const auto reduce = find_reduce_kernel(type, op);
            expect_symbol(reduce.entry, reduce.name);
            const auto program = find_program_kernel(type, op);
            expect_symbol(program.entry, program.name);
        }
    }
    expect_symbol(find_copy_kernel().entry, find_copy_kernel().name);
    expect_symbol(find_barrier_kernel().entry, find_barrier_kernel().name);
}

}  // namespace
}  // namespace rondo::kernels
