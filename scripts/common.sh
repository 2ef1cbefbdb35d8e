# Shared by scripts/setup, demo and test: exit codes, messages, stages with their times, build trees. Sourced, never run.

readonly exit_failed=1 exit_usage=2 exit_packages=3 exit_download=4 exit_build=5

exit_codes_help() {
    cat <<'TEXT'
Exit codes:
  0  done                                   3  Debian packages are missing and you are not root
  1  the program or a test failed           4  a download or an installation failed
  2  an option was not understood           5  the configuration or the build failed
TEXT
}

say() { printf '%s\n' "$*"; }
complain() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }
fail() {
    local code=$1
    shift
    complain "$*"
    exit "$code"
}

# The absolute form of a path that may not exist yet.
absolute_path() {
    case $1 in
        /*) printf '%s' "$1" ;;
        *) printf '%s/%s' "$PWD" "$1" ;;
    esac
}

# ---- stages: name, seconds, outcome -------------------------------------------------------------------------------------
stage_names=() stage_seconds=() stage_outcomes=()

# stage NAME COMMAND...: runs the command, notes its time, returns its status.
stage() {
    local name=$1 status=0 begin=$EPOCHREALTIME
    shift
    say "==> $name"
    "$@" || status=$?
    stage_names+=("$name")
    stage_seconds+=("$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')")
    if ((status == 0)); then stage_outcomes+=(ok); else stage_outcomes+=("failed ($status)"); fi
    return "$status"
}

print_stages() {
    local i total=0
    printf '\n%-36s %10s  %s\n' stage seconds outcome
    for i in "${!stage_names[@]}"; do
        printf '%-36s %10s  %s\n' "${stage_names[i]}" "${stage_seconds[i]}" "${stage_outcomes[i]}"
        total=$(awk -v a="$total" -v b="${stage_seconds[i]}" 'BEGIN { printf "%.1f", a + b }')
    done
    printf '%-36s %10s\n\n' total "$total"
}

# ---- build trees --------------------------------------------------------------------------------------------------------
# One compile job per core, but no more than memory allows (1.5 GiB each).
default_jobs() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/^MemAvailable/ { print int($2 / 1572864) }' /proc/meminfo)
    ((memory >= 1)) || memory=1
    echo $((cores < memory ? cores : memory))
}

# configure_tree PRESET [CMAKE ARGUMENTS...]: uses $root, $build and what scripts/setup found. Starts afresh when the checkout
# has moved or another CUDA was chosen since the last time, because CMake can't follow that. Prints only errors and what is left out.
configure_tree() {
    local preset=$1 tree=$build/$1 log=$build/configure-$1.log fresh=() device=()
    shift
    # PTX alone is quick to build; where it will run it is compiled for the GPU.
    [[ $preset != cuda || ! -e /dev/nvidiactl ]] || device=(-D RONDO_CUDA_ARCHITECTURES=)
    if [[ -f $tree/CMakeCache.txt ]]; then
        if ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$tree/CMakeCache.txt" ||
            ! cmp -s "$build/rondo-setup.cmake" "$tree/rondo-setup.used"; then
            fresh=(--fresh)
        fi
    fi
    if ! (cd "$root" && "$RONDO_CMAKE" --preset "$preset" "${fresh[@]}" -B "$tree" "${device[@]}" "$@") >"$log" 2>&1; then
        cat "$log" >&2
        return "$exit_build"
    fi
    sed -nE 's/^-- ((No device code|Device code|Left out).*)/\1/p' "$log"
    cp "$build/rondo-setup.cmake" "$tree/rondo-setup.used"
}

# build_tree PRESET [TARGET]
build_tree() {
    local arguments=(--build "$build/$1" --parallel "$jobs")
    [[ $# -lt 2 ]] || arguments+=(--target "$2")
    "$RONDO_CMAKE" "${arguments[@]}" || return "$exit_build"
}

# positive_number OPTION VALUE: prints the value or ends the script.
positive_number() {
    [[ $2 =~ ^[1-9][0-9]*$ ]] || fail $exit_usage "$1 is '$2'; it must be a number from 1 on"
    printf '%s' "$2"
}
