# Shared by the scripts: messages, folders, steps with a log. Bash must source it. It installs nothing.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${AOTI_DBG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/aoti-dbg}
logs=$root/build/logs
# shellcheck source=torch.sh
source "$root/scripts/lib/torch.sh"
# shellcheck source=schema.sh
source "$root/scripts/lib/schema.sh"

say() { printf '%s\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# step "what is done" command args...: prints one line with the time it took. The command's output goes to a
# log. If the command fails, the end of the log is shown. With AOTI_DBG_VERBOSE=1 on a terminal, the output is
# shown live.
step() {
    local title=$1 started=$SECONDS status=0
    shift
    mkdir -p "$logs"
    local log
    log=$logs/$(printf '%s' "$title" | tr -cs 'A-Za-z0-9._-' '-').log
    printf -- '-- %s ...' "$title"
    if [[ ${AOTI_DBG_VERBOSE:-0} == 1 ]]; then
        printf '\n'
        "$@" </dev/null 2>&1 | tee "$log" || status=$?
    else
        "$@" </dev/null >"$log" 2>&1 || status=$?
    fi
    if ((status != 0)); then
        printf ' failed after %d s\n' $((SECONDS - started))
        [[ ${AOTI_DBG_VERBOSE:-0} == 1 ]] || tail -n 60 "$log" >&2
        printf 'error: "%s" failed with status %d; its whole output: %s\n' "$title" "$status" "$log" >&2
        return "$status"
    fi
    printf ' %d s\n' $((SECONDS - started))
}

# build PRESET [TARGET...]: configures and builds. ninja decides what is out of date.
build_preset() {
    local preset=$1 python
    shift
    local arguments=()
    if python=$(torch_python); then
        arguments+=("-DAOTI_DBG_TORCH_PYTHON=$python")
        local header
        if ! has_cuda_header && header=$(wheel_cuda_include "$python"); then
            arguments+=("-DAOTI_DBG_CUDA_INCLUDE=$header")
        fi
    fi
    if python=$(schema_python); then
        arguments+=("-DAOTI_DBG_SCHEMA_PYTHON=$python")
    fi
    local targets=()
    (($# == 0)) || targets=(--target "$@")
    cd "$root" || return
    step "configure $preset" cmake --preset "$preset" "${arguments[@]}" || return
    step "build $preset" cmake --build --preset "$preset" -j "$(jobs_here)" "${targets[@]}"
}

jobs_here() { nproc 2>/dev/null || echo 2; }
# Many tests wait for a disk, a process or a time.
tests_at_once() { echo $((($(jobs_here) * 3 + 1) / 2)); }
