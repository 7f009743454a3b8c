# Finds or installs a Python with torch. common.sh sources it. Everything is in the cache folder. The system's
# Python and the user's own environments must stay unchanged.
# shellcheck shell=bash

# use_torch VERSION: what follows is about this release, in an environment of its own.
use_torch() {
    torch_version=$1
    # shellcheck disable=SC2154 # cache is of common.sh
    venv=$cache/venv-torch-$torch_version
    venv_stamp=$venv/.complete
}
use_torch 2.11.0

# has_torch PYTHON: it imports numpy and a torch that has AOTInductor's package loader.
has_torch() {
    "$1" -c '
import sys, numpy, torch
sys.exit(tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 6))' >/dev/null 2>&1
}

# Prints the Python to use, and fails if there is none yet. Order: the user's choice, the private environment,
# the system's own if it has torch.
torch_python() {
    if [[ -n ${AOTI_DBG_TORCH_PYTHON:-} ]]; then
        echo "$AOTI_DBG_TORCH_PYTHON"
    elif [[ -e $venv_stamp ]]; then
        echo "$venv/bin/python"
    elif command -v python3 >/dev/null && has_torch python3; then
        python3 -c 'import sys; print(sys.executable)'
    else
        return 1
    fi
}

# pip writes INSTALLER when a package is complete. If both have it, an environment without a stamp is
# complete.
venv_is_whole() {
    "$venv/bin/python" - "$torch_version" >/dev/null 2>&1 <<'PYTHON'
import importlib.metadata as metadata
import sys

for name in ("torch", "numpy"):
    assert metadata.distribution(name).read_text("INSTALLER"), name
import numpy
import torch

assert torch.__version__.split("+")[0] == sys.argv[1]
PYTHON
}

# Prints a Python that can create virtual environments, the distribution's first, because apt's python3-venv
# belongs to it.
base_python() {
    local candidate
    for candidate in /usr/bin/python3 python3; do
        if command -v "$candidate" >/dev/null && "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

fill_venv() {
    rm -rf "$venv"
    "$1" -m venv "$venv" &&
        PYTHONUNBUFFERED=1 "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
            "torch==$torch_version" numpy && has_torch "$venv/bin/python"
}

make_venv() {
    local python
    python=$(base_python) || die "no python3 with the modules venv and ensurepip (apt package python3-venv)"
    mkdir -p "$cache"
    step "install torch $torch_version into $venv (about 5 GB, once)" fill_venv "$python"
}

# setup_torch OFFLINE(0|1): makes torch_python succeed, or ends the script with a remedy.
setup_torch() {
    local offline=$1
    if [[ -n ${AOTI_DBG_TORCH_PYTHON:-} ]]; then
        has_torch "$AOTI_DBG_TORCH_PYTHON" ||
            die "AOTI_DBG_TORCH_PYTHON=$AOTI_DBG_TORCH_PYTHON cannot import torch (2.6 or later) and numpy"
        return
    fi
    [[ -e $venv_stamp ]] && return
    mkdir -p "$cache"
    # Two concurrent setups must not install into one environment.
    exec 9>"$cache/setup.lock"
    flock 9
    if [[ ! -e $venv_stamp ]]; then
        if venv_is_whole; then
            touch "$venv_stamp"
        elif ((!offline)) && make_venv; then
            touch "$venv_stamp"
        else
            rm -rf "$venv"
            torch_python >/dev/null ||
                die "no Python with torch: set AOTI_DBG_TORCH_PYTHON to one, or run scripts/setup with a network"
            say "-- torch: taking the one of $(torch_python)"
        fi
    fi
    exec 9>&-
}

# Whether CMake finds a toolkit's cuda.h without a hint.
has_cuda_header() {
    local folder
    for folder in /usr/local/cuda/include /usr/include "${CUDA_HOME:-/nonexistent}/include"; do
        [[ -e $folder/cuda.h ]] && return 0
    done
    command -v nvcc >/dev/null
}

# Prints the folder of cuda.h among torch's NVIDIA wheels, for machines without a toolkit.
wheel_cuda_include() {
    "$1" - <<'PYTHON'
import glob
import sys

for folder in sys.path:
    for header in sorted(glob.glob(folder + "/nvidia/*/include/cuda.h")):
        print(header.rsplit("/", 1)[0])
        sys.exit(0)
sys.exit(1)
PYTHON
}
