# Tools that come as Python packages, each in an environment of its own in the cache folder, because the
# system's Python must stay unchanged. common.sh sources this file.
# shellcheck shell=bash
# shellcheck disable=SC2154 # root and cache are of common.sh

browser_requirements=$root/scripts/lib/browser_requirements.txt
trace_requirements=$root/scripts/lib/trace_requirements.txt

tool_version() {
    case $1 in
        jsonschema) echo 4.25.1 ;;  # validates output against docs/schema
        clang-tidy) echo 23.1.4 ;;  # takes a third of the time of Debian's
        trace) sha256sum "$trace_requirements" | cut -c1-16 ;;  # reads traces of aoti-dbg
        browser) sha256sum "$browser_requirements" | cut -c1-16 ;;  # drives Chromium, and has axe
        *) return 1 ;;
    esac
}

tool_venv() { echo "$cache/venv-$1-$(tool_version "$1")"; }

# tool_bin NAME: prints the folder with its programs, and fails if it is not installed.
tool_bin() {
    local venv
    venv=$(tool_venv "$1")
    [[ -e $venv/.complete ]] && echo "$venv/bin"
}

make_tool() {
    local venv python
    local packages=("$1==$(tool_version "$1")")
    # The list is complete.
    [[ $1 != trace ]] || packages=(--no-deps -r "$trace_requirements")
    # The list is complete: axe comes without the packages of its own browser driver.
    [[ $1 != browser ]] || packages=(--no-deps -r "$browser_requirements")
    venv=$(tool_venv "$1")
    python=$(base_python) || return
    rm -rf "$venv"
    mkdir -p "$cache"
    "$python" -m venv "$venv" &&
        "$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
            "${packages[@]}" &&
        touch "$venv/.complete"
}

# setup_tool NAME OFFLINE(0|1) LOSS: installs it, or prints what will be missing.
setup_tool() {
    tool_bin "$1" >/dev/null && return
    if (($2)); then
        say "-- $1 is missing and nothing may be downloaded: $3"
        return
    fi
    step "install $1 $(tool_version "$1")" make_tool "$1"
}
