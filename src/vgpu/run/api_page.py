#!/usr/bin/env python3
"""Writes docs/vgpu-api.md: every function of NVIDIA's public headers, and whether vgpu has it.

Usage: api_page.py --compiler CXX --include FOLDER --library libvgpu.so.0 --refused FILE --output FILE [--check]
With --check it only compares, and ends with 77 where the page was written for other headers.
"""
import argparse
import re
import subprocess
import sys
import textwrap

import absent


def exported(library):
    """Names of real functions: stand-ins are weak."""
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[2].split("@")[0] for line in lines if line.split()[1] == "T"}


def cuda_version(include):
    text = open(f"{include}/cuda.h").read()
    number = int(re.search(r"#define CUDA_VERSION (\d+)", text).group(1))
    return f"{number // 1000}.{number % 1000 // 10}"


def section(header, names, have, refused):
    done = [name for name in names if name in have]
    rest = [name for name in names if name not in have]
    reasons = {}
    for name in rest:
        reasons.setdefault(absent.refusal_of(name, refused), []).append(name)
    missing = reasons.pop("", [])
    lines = [f"## {header}", "", f"**Done ({len(done)}):** " + ", ".join(done), ""]
    for reason, those in sorted(reasons.items()):
        lines += [f"**Refused, {reason} ({len(those)}):** " + ", ".join(those), ""]
    if missing:
        lines += [f"**Absent ({len(missing)}):** " + ", ".join(missing), ""]
    return lines, (header, len(done), len(rest) - len(missing), len(missing))


def page(options):
    refused = absent.refusals(options.refused)
    have = exported(options.library)
    body, rows = [], []
    for header, _, names in absent.all_functions(options.compiler, [options.include]):
        if not names:
            continue
        lines, row = section(header, names, have, refused)
        body += lines
        rows.append(row)
    head = [
        "# What vgpu has of NVIDIA's APIs",
        "",
        f"Written by `src/vgpu/run/api_page.py` for the headers of CUDA {cuda_version(options.include)}. *Refused* functions "
        "never come, for the reason given; *absent* ones may. Both return \"not supported\", and are named on stderr, with "
        "their caller, the first time they are called.",
        "",
        "| header | done | refused | absent |",
        "|---|---|---|---|",
    ]
    head += [f"| {header} | {done} | {no} | {missing} |" for header, done, no, missing in rows]
    return "\n".join(wrapped(line) for line in head + [""] + body).rstrip() + "\n"


def wrapped(line):
    """Lines of a table stay."""
    return line if line.startswith("|") else "\n".join(textwrap.wrap(line, 118, break_long_words=False, break_on_hyphens=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("compiler", "include", "library", "refused", "output"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = page(options)
    if not options.check:
        open(options.output, "w").write(text)
        return 0
    written = open(options.output).read()
    version = f"headers of CUDA {cuda_version(options.include)}."
    if version not in written:
        print(f"skipped: the page was not written for the {version}")
        return 77
    if written != text:
        print(f"{options.output} is out of date; write it again with api_page.py")
        return 1
    return 0


sys.exit(main())
