#!/usr/bin/env python3
"""Runs rondo-bench for every performance target on virtual GPUs and prints target, measured ratio, pass or fail.

scripts/bench calls it: targets.py PROGRAM [--only WORD] [--quick] [--json FILE]. All ratios are of one run, in which the contestants took
turns; where two runs are compared, each is taken as a share of the limit that was measured beside it.
Exit code: 0 all met, 1 some missed, 2 a run failed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

KIB, MIB = 1 << 10, 1 << 20
HALVES = ("out_of_place", "in_place")
LONGEST_RUN = 600  # seconds


class Runs:
    """rondo-bench's JSON by arguments; each run is made once."""

    def __init__(self, program, quick):
        self.program, self.quick, self.kept = program, quick, {}

    def __call__(self, *arguments):
        if arguments not in self.kept:
            self.kept[arguments] = self.run(arguments)
        return self.kept[arguments]

    def run(self, arguments):
        extra = ["--gpu", "virtual"] + (["--rounds", "3"] if self.quick else [])
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.json")
            command = [self.program, *arguments, *extra, "-J", file]
            print("#", " ".join(command[1:-2]), flush=True)
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    timeout=LONGEST_RUN)
            if result.returncode != 0 or not os.path.exists(file):
                raise RuntimeError(f"{' '.join(command)} ended with code {result.returncode}:\n{result.stdout}")
            with open(file) as saved:
                return json.load(saved)


def limit_ratios(run, size=None):
    """Shares of the limit, of all rows of that size, both halves."""
    return [row["rondo"][half]["limit_ratio"]
            for row in run["results"] if size in (None, row["size"])
            for half in HALVES if half in row["rondo"] and "limit_ratio" in row["rondo"][half]]


def speedups(run, peer, least_size=0):
    found = []
    for row in run["results"]:
        for half in HALVES:
            if row["size"] < least_size or half not in row["rondo"]:
                continue
            for other in row["rondo"][half]["peers"]:
                if other["name"] == peer and "time" in other:
                    found.append(other["time"]["median_us"] / row[half]["time"])
    return found


def share(run, of):
    """How fast one run is, measured by another: shares of their limits; the worse of out of place and in place."""
    ratio = lambda r, half: r["results"][0]["rondo"][half]["limit_ratio"]
    return min(ratio(run, half) / ratio(of, half) for half in HALVES
               if all(half in r["results"][0]["rondo"] for r in (run, of)))


def all_reduce_targets(runs):
    for ranks in (2, 4, 8):
        run = runs("all_reduce", "-g", str(ranks), "-b", "1M", "-e", "64M", "-f", "4")
        if ranks >= 4:
            yield f"all_reduce, {ranks} ranks, 1 MiB, of the limit", 0.8, min(limit_ratios(run, MIB))
        for size in (16, 64):
            yield f"all_reduce, {ranks} ranks, {size} MiB, of the limit", 0.9, min(limit_ratios(run, size * MIB))


def type_targets(runs):
    for ranks in ("2", "4", "8"):
        plain = runs("all_reduce", "-g", ranks, "-b", "16M", "-e", "16M")
        for name, least in (("half", 0.7), ("bfloat16", 0.7), ("f8e4m3", 0.4), ("f8e5m2", 0.4)):
            run = runs("all_reduce", "-g", ranks, "-b", "16M", "-e", "16M", "-d", name)
            yield f"all_reduce, {ranks} ranks, 16 MiB, {name}, of the rate of float", least, share(run, plain)
        for name in ("min", "max"):
            run = runs("all_reduce", "-g", ranks, "-b", "16M", "-e", "16M", "-o", name)
            yield f"all_reduce, {ranks} ranks, 16 MiB, {name}, of the rate of sum", 0.9, share(run, plain)


def collective_targets(runs):
    for name in ("reduce", "broadcast", "reduce_scatter", "all_gather"):
        for ranks in (2, 4, 8):
            run = runs(name, "-g", str(ranks), "-b", "16M", "-e", "16M")
            yield f"{name}, {ranks} ranks, 16 MiB, of the limit", 0.85, min(limit_ratios(run))


def batch_targets(runs):
    for ranks in ("2", "4", "8"):
        for model in ("resnet50", "gpt2"):
            batch = runs("batch_reduce", "-g", ranks, "--tensors", model)
            size = str(batch["results"][0]["size"])
            whole = runs("all_reduce", "-g", ranks, "-b", size, "-e", size)
            yield f"batch_reduce, {ranks} ranks, {model}, of the rate of one all_reduce", 1 / 1.15, share(batch, whole)


def openmpi_targets(runs):
    for ranks in (2, 4, 8):
        run = runs("all_reduce", "-g", str(ranks), "-b", "8", "-e", "64M", "-f", "8", "--against", "openmpi", "--no-limit")
        largest = runs("all_reduce", "-g", str(ranks), "-b", "64M", "-e", "64M", "--against", "openmpi", "--no-limit")
        if not speedups(run, "openmpi"):
            raise RuntimeError("there are no times of OpenMPI; apt install openmpi-bin libopenmpi-dev, then build again")
        yield f"all_reduce, {ranks} ranks, 64 MiB, times OpenMPI's speed", 5, min(speedups(largest, "openmpi"))
        from_size = 4 * KIB if ranks == 2 else 0
        text = "from 4 KiB on" if from_size else "at every size"
        yield f"all_reduce, {ranks} ranks, {text}, times OpenMPI's speed", 1, min(speedups(run, "openmpi", from_size))


GROUPS = {"all_reduce": all_reduce_targets, "types": type_targets, "collectives": collective_targets,
          "batches": batch_targets, "openmpi": openmpi_targets}


def row_text(row, width):
    return f"{row['target']:<{width}}  {row['wanted']:>7.2f}  {row['measured']:>7.2f}  {'pass' if row['met'] else 'FAIL'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="rondo-bench")
    parser.add_argument("--only", action="append", choices=sorted(GROUPS), help="only these groups; repeatable")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: faster and noisier")
    parser.add_argument("--json", help="also write the table to this file")
    options = parser.parse_args()
    runs, rows, failed = Runs(options.program, options.quick), [], False
    for name, group in GROUPS.items():
        if options.only and name not in options.only:
            continue
        try:
            for target, wanted, measured in group(runs):
                rows.append({"target": target, "wanted": wanted, "measured": measured, "met": measured >= wanted})
                print(row_text(rows[-1], 66), flush=True)
        except (RuntimeError, KeyError, IndexError, ValueError, subprocess.TimeoutExpired) as error:
            print(f"targets of {name} could not be measured: {error}", file=sys.stderr)
            failed = True
    width = max((len(row["target"]) for row in rows), default=6)
    print(f"\n{'target':<{width}}  {'wanted':>7}  {'ratio':>7}")
    for row in rows:
        print(row_text(row, width))
    met = sum(row["met"] for row in rows)
    print(f"\n{met} of {len(rows)} targets met")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    return 2 if failed else 0 if met == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
