# Shared by the scripts: messages, folders, builds. Bash must source it. It installs nothing.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${AOTI_DBG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aoti-dbg}
logs=$root/build/logs
# shellcheck source=torch.sh
source "$root/scripts/lib/torch.sh"
# shellcheck source=python_tools.sh
source "$root/scripts/lib/python_tools.sh"
# shellcheck source=progress.sh
source "$root/scripts/lib/progress.sh"

say() { printf '%s\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# configure_preset PRESET [ARGUMENT...]: configures, with what is known of this machine.
configure_preset() {
    local preset=$1 python
    shift
    local arguments=("$@")
    if python=$(torch_python); then
        arguments+=("-DAOTI_DBG_TORCH_PYTHON=$python")
        local header
        if ! has_cuda_header && header=$(wheel_cuda_include "$python"); then
            arguments+=("-DAOTI_DBG_CUDA_INCLUDE=$header")
        fi
    fi
    if python=$(tool_bin jsonschema); then
        arguments+=("-DAOTI_DBG_SCHEMA_PYTHON=$python/python")
    fi
    if python=$(tool_bin browser); then
        arguments+=("-DAOTI_DBG_BROWSER_PYTHON=$python/python")
    fi
    cd "$root" || return
    step "configure $preset" cmake --preset "$preset" "${arguments[@]}"
}

# build_preset PRESET [TARGET...]: configures and builds. ninja decides what is out of date.
build_preset() {
    local preset=$1 targets=()
    shift
    (($# == 0)) || targets=(--target "$@")
    configure_preset "$preset" || return
    # The progress of a step needs ninja's usual numbers.
    NINJA_STATUS="[%f/%t] " step "build $preset" cmake --build --preset "$preset" -j "$(jobs_here)" "${targets[@]}"
}

jobs_here() { nproc 2>/dev/null || echo 2; }
# Many tests wait for a disk, a process or a time. A test that computes takes three of these places (PROCESSORS).
tests_at_once() { echo $(($(jobs_here) * 4)); }
