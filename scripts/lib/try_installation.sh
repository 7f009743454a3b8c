#!/usr/bin/env bash
# Tries an installation: try_installation.sh PREFIX. It also runs inside other systems, so it needs only bash
# and coreutils.
set -euo pipefail
prefix=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$prefix/bin/aoti-dbg" --version
# It fails without a library that loads. There is no GPU to check.
"$prefix/bin/aoti-dbg" doctor
"$prefix/bin/aoti-dbg" explain AD1203 >explanation
grep -q AD1203 explanation
# The exit code is 123 if the library was not in the program.
"$prefix/bin/aoti-dbg" run --require library -- bash -c 'exit 7' && status=0 || status=$?
[[ $status == 7 ]] || { echo "expected exit code 7, got $status"; exit 1; }
"$prefix/bin/aoti-dbg" run --require library -- true

# shellcheck disable=SC1091
complete=$(bash -c 'source "$1/share/bash-completion/completions/aoti-dbg" && complete -p aoti-dbg' bash "$prefix")
[[ $complete == "complete -F _aoti_dbg aoti-dbg" ]] || { echo "no completion: $complete"; exit 1; }
echo "the installation works"
