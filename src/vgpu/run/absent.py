#!/usr/bin/env python3
"""Writes a stand-in for every function of NVIDIA's public headers: it says, once, that the function is missing and who called it.

The stand-ins are weak: a function that vgpu has replaces its stand-in when libvgpu.so is linked.
Usage: absent.py --compiler CXX --include FOLDER [--include ...] --refused FILE --output FILE
"""
import argparse
import fnmatch
import re
import subprocess

HEADERS = [
    # header, what its functions return, what a missing one returns
    ("cuda_runtime_api.h", "cudaError_t", 801),  # cudaErrorNotSupported
    ("cuda_profiler_api.h", "cudaError_t", 801),
    ("cuda.h", "CUresult", 801),  # CUDA_ERROR_NOT_SUPPORTED
    ("cudaProfiler.h", "CUresult", 801),
    ("nvml.h", "nvmlReturn_t", 3),  # NVML_ERROR_NOT_SUPPORTED
]
# Each compilation of a header shows other names: older ones, and those for per-thread default streams.
VARIANTS = [[], ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"], ["-D__CUDA_API_VERSION_INTERNAL"], ["-DNVML_NO_UNVERSIONED_FUNC_DEFS"]]


def functions_of(compiler, includes, header, result, macros):
    command = [compiler, "-E", "-P", "-x", "c++", "-include", header, *macros, *[f"-I{each}" for each in includes], "/dev/null"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return set()
    text = re.sub(r"__attribute__\s*\(\([^)]*\)\)", " ", run.stdout)
    return set(re.findall(rf"\b{result}\s+((?:cu|nvml)[A-Za-z0-9_]+)\s*\(", text))


def refusals(path):
    """Lines of `pattern  reason`."""
    lines = [line.split(None, 1) for line in open(path) if line.strip() and not line.startswith("#")]
    return [(pattern, reason.strip()) for pattern, reason in lines]


def all_functions(compiler, includes):
    """(header, number that a missing function returns, sorted names); each name once."""
    seen = set()
    for header, result, code in HEADERS:
        names = set()
        for macros in VARIANTS:
            names |= functions_of(compiler, includes, header, result, macros)
        yield header, code, sorted(names - seen)
        seen |= names


def refusal_of(name, refused):
    """Why the function is refused for good; empty where it is not."""
    return next((why for pattern, why in refused if fnmatch.fnmatchcase(name, pattern)), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--refused", required=True)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    refused = refusals(options.refused)
    lines = ["// Written by absent.py.", "extern \"C\" int vgpu_absent(const char* name, const char* reason, int result, const void* caller);"]
    for _, code, names in all_functions(options.compiler, options.include):
        for name in names:
            reason = refusal_of(name, refused)
            lines.append(
                f'extern "C" __attribute__((weak, visibility("default"), section("vgpu_stand_ins"))) int {name}() '
                f'{{ return vgpu_absent("{name}", "{reason}", {code}, __builtin_return_address(0)); }}'
            )
    with open(options.output, "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
