#!/usr/bin/env bash
# Compiles one C++ source against the LibTorch of a Python's torch package: torch_program.sh PYTHON SOURCE PROGRAM
# For machines without CMake packages: it needs a compiler (CXX, else g++) and torch, and starts no torch.
set -euo pipefail
python=$1 source=$2 program=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
torch=$("$python" -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])")
[[ -e $torch/lib/libtorch_cpu.so ]] || {
    echo "no LibTorch beside $python" >&2
    exit 1
}
mkdir -p "$(dirname "$program")"
# libtorch brings the CUDA side in; nothing refers to it by name.
exec "${CXX:-g++}" -std=c++20 -O2 -Wall -Wextra -Werror -I "$root" \
    -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include" \
    -o "$program" "$source" -pthread \
    -Wl,--no-as-needed "$torch/lib/libtorch.so" -Wl,--as-needed \
    "$torch/lib/libtorch_cpu.so" "$torch/lib/libc10.so" -ldl \
    -Wl,-rpath,"$torch/lib" -Wl,--allow-shlib-undefined
