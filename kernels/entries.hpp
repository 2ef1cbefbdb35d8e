// The kernels themselves: what is launched. The same functions under nvcc (as __global__)
// and under g++ (as host bodies for vgpu), with the same mangled names. Included only by the files
// that instantiate them.
#pragma once

#include "kernels/entry_table.hpp"
#include "kernels/kernel_block.hpp"
#include "kernels/kernel_names.hpp"
#include "kernels/program_body.hpp"
#include "kernels/publish.hpp"

namespace rondo::kernels {

template <ElementType type, ReduceOp op>
RONDO_KERNEL program_kernel(ProgramArguments arguments) {
    RONDO_SHARED SharedProgram shared;
    KernelBlock block;
    program_body<type, op>(block, arguments, shared);
}

struct PublishProgramKernel {
    template <ElementType type, ReduceOp op>
    const void* operator()() const {
        return publish<ProgramArguments, &program_kernel<type, op>>(program_kernel_name(type, op));
    }
};

template <ElementType type>
FoldRow<const void*> program_kernel_row() {
    return make_fold_row<const void*, type>(PublishProgramKernel{});
}

}  // namespace rondo::kernels
