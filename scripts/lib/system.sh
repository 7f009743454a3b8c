# Installs missing system packages for the build with apt. Needs common.sh.
# shellcheck shell=bash

# One requirement per line: apt package, then a command that succeeds if it is installed by any means.
requirements() {
    cat <<'TABLE'
g++ command -v g++
cmake command -v cmake
ninja-build command -v ninja
git command -v git
nlohmann-json3-dev have_header nlohmann/json.hpp
libcli11-dev have_header CLI/CLI.hpp
catch2 have_header catch2/catch.hpp catch2/catch_all.hpp
python3-venv base_python
python3-dev have_python_header
TABLE
    if (($1)); then
        cat <<'TABLE'
clang-format command -v clang-format
clang command -v clang++
gdb command -v gdb
valgrind command -v valgrind
fakeroot command -v fakeroot
lintian command -v lintian
debootstrap command -v debootstrap
man-db command -v man
pkg-config command -v pkg-config
zsh command -v zsh
fish command -v fish
TABLE
        # Ubuntu has Chromium only as a snap, which cannot open files of a temporary folder.
        ! grep -qsx 'ID=debian' /etc/os-release || cat <<'TABLE'
chromium command -v chromium
chromium-driver command -v chromedriver
TABLE
    fi
}

have_header() {
    local header
    for header in "$@"; do
        printf '#include <%s>\n' "$header" | ${CXX:-g++} -std=c++20 -E -x c++ - >/dev/null 2>&1 && return 0
    done
    return 1
}

# GPU compilation builds a small Python extension with the headers of torch's Python.
have_python_header() {
    local python
    python=$(torch_python 2>/dev/null) || python=$(base_python) || return 1
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}

# setup_system DEV(0|1) OFFLINE(0|1)
setup_system() {
    local dev=$1 offline=$2 package probe missing=()
    while read -r package probe; do
        $probe >/dev/null 2>&1 || missing+=("$package")
    done < <(requirements "$dev")
    ((${#missing[@]} == 0)) && return
    if ((offline)) || ! command -v apt-get >/dev/null; then
        say "warning: not found: ${missing[*]} (names of Debian's packages); going on without" >&2
        return
    fi
    local sudo=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            die "these packages are missing, and there is no sudo: ask for: apt-get install ${missing[*]}"
        sudo=(sudo)
        [[ -t 0 ]] || sudo=(sudo -n) # never ask without a terminal
    fi
    apt_step() { "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"; }
    step "apt-get update" apt_step update || die "apt-get update failed; requested: ${missing[*]}"
    step "apt-get install ${missing[*]}" apt_step install -y --no-install-recommends "${missing[@]}" ||
        die "could not install: ${missing[*]}"
}
