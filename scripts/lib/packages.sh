# Makes packages and checks their files. Needs common.sh and a folder $scratch, which the caller removes.
# shellcheck shell=bash disable=SC2154

have() {
    command -v "$1" >/dev/null && return
    say "-- skipped: $1 is not installed"
    return 1
}

# The archives take the owners of files from the user who packs them.
packs_as_root() { ((EUID == 0)) || command -v fakeroot >/dev/null; }

# make_packages SOURCE TO: from the release build of a source tree.
make_packages() {
    local epoch fake=()
    epoch=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)
    if ((EUID != 0)) && packs_as_root; then
        fake=(fakeroot)
    fi
    # Folders in the packages get the permissions that the user's mask leaves.
    (umask 022 && SOURCE_DATE_EPOCH=$epoch "${fake[@]}" cpack --config "$1/build/release/CPackConfig.cmake" -B "$2") &&
        rm -rf "$2/_CPack_Packages"
}

# same_packages ONE OTHER: fails if a file differs.
same_packages() {
    local package count=0
    for package in "$1"/*; do
        cmp "$package" "$2/${package##*/}" || return
        count=$((count + 1))
    done
    echo "$count packages are the same"
    ((count == 4))
}

same_again() {
    make_packages "$1" "$scratch/again" && same_packages "$2" "$scratch/again"
}

# A ccache that rewrites paths (base_dir) changes the debug information, so the first build must not use it.
same_elsewhere() {
    local other=$scratch/elsewhere/source folder=$1
    mkdir -p "$other" || return
    (cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$other") || return
    local setting settings=()
    while IFS= read -r setting; do
        settings+=("-D$setting")
    done < <(grep -E '^(AOTI_DBG_TORCH_PYTHON|AOTI_DBG_CUDA_INCLUDE|CMAKE_(C|CXX|ASM)_FLAGS):' \
        "$root/build/release/CMakeCache.txt" | sed "s|$root|$other|g")
    (
        cd "$other" && cmake --preset release -DAOTI_DBG_TESTS=OFF -DAOTI_DBG_BENCH=OFF "${settings[@]}" &&
            cmake --build --preset release -j "$(jobs_here)" --target aoti_dbg aoti_dbg_tool aoti_dbg_described
    ) || return
    make_packages "$other" "$scratch/elsewhere/packages" && same_packages "$folder" "$scratch/elsewhere/packages"
}

# unpacked PACKAGE TO
unpacked() {
    mkdir -p "$2"
    case $1 in
        *.deb) dpkg-deb -x "$1" "$2" ;;
        *) tar -xzf "$1" -C "$2" ;;
    esac
}

listing() {
    case $1 in
        *.deb) dpkg-deb --fsys-tarfile "$1" | tar --numeric-owner -tvf - ;;
        *) tar --numeric-owner -tvzf "$1" ;;
    esac
}

# Prints every entry that does not have root as owner, or that has a mode other than 755 for folders and the
# command, and 644 for the rest. Without fakeroot, a user cannot make such an archive.
wrong_entries() {
    local owner=0/0
    packs_as_root || owner='[0-9]+/[0-9]+'
    awk -v "owner=^$owner\$" '
        /^l/ { next }
        { expected = (/^d/ || $6 ~ /\/bin\/aoti-dbg$/) ? "rwxr-xr-x" : "rw-r--r--" }
        $2 !~ owner || substr($1, 2) != expected { print "expected 0/0 and " expected ": " $0 }
    '
}

# A package must not depend on the machine that built it.
check_contents() {
    local folder=$scratch/contents file wrong text
    wrong=$(listing "$1" | wrong_entries)
    [[ -z $wrong ]] || { echo "$wrong"; return 1; }
    rm -rf "$folder"
    unpacked "$1" "$folder" || return
    find "$folder" -name '*.gz' -exec gunzip {} + || return
    while IFS= read -r file; do
        objcopy --decompress-debug-sections "$file" || return
    done < <(find "$folder" -name '*.debug')
    for text in "$root" "${HOME%/}/" "$scratch"; do
        [[ $text != / ]] || continue
        if file=$(grep -rlaF -- "$text" "$folder"); then
            printf 'error: a path of this machine, %s, is in:\n%s\n' "$text" "$file"
            grep -rohaE -- "[^ [:cntrl:]]*${text}[^ [:cntrl:]]*" "$folder" | sort | uniq -c | sort -rn | head -n 20
            return 1
        fi
    done
    find "$folder" -type f | wc -l
}

lintian_check() {
    local as_root=()
    ((EUID != 0)) || as_root=(--allow-root)
    lintian "${as_root[@]}" --fail-on error,warning --tag-display-limit 0 "$@"
}

# The stripped programs have no debug information, and the other package has it under their build ids.
check_debug_information() {
    local folder=$scratch/debug package program id debug text
    rm -rf "$folder"
    for package in "$1"/*.deb; do
        unpacked "$package" "$folder" || return
    done
    for program in bin/aoti-dbg lib/libaoti_dbg.so; do
        program=$folder/usr/$program
        id=$(readelf -n "$program" | sed -n 's/^ *Build ID: //p')
        debug=$folder/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
        # Not a pipe: grep ends at its first match, and then readelf would fail.
        grep -q ' \.debug_info ' < <(readelf -SW "$debug") || { echo "no debug information in $debug"; return 1; }
        if readelf -SW "$program" | grep -E ' \.(debug_info|symtab) '; then
            echo "$program is not stripped"
            return 1
        fi
    done
    command -v gdb >/dev/null || { echo "gdb is not installed"; return; }
    text=$(gdb -nx -batch -iex "set debug-file-directory $folder/usr/lib/debug" \
        -ex "info line aoti_dbg::cli::all_commands" "$folder/usr/bin/aoti-dbg" 2>&1)
    [[ $text == *'cli/commands.cpp"'* ]] || { echo "gdb does not find the debug information: $text"; return 1; }
}

# Uses an unpacked archive in a folder with nothing else, without variables of this shell.
try_archive() {
    local folder=$scratch/bare
    unpacked "$1"/aoti-dbg-*-linux-x86_64.tar.gz "$folder" || return
    local prefix
    prefix=$(echo "$folder"/*/)
    prefix=${prefix%/}
    env -i PATH=/usr/bin:/bin LANG=C.UTF-8 bash "$root/scripts/lib/try_installation.sh" "$prefix" || return
    python3 -B "$root/tests/packaging/consumer_test.py" "$prefix" || return
    if ! command -v man >/dev/null; then
        echo "man is not installed"
        return
    fi
    man_page_renders "$prefix/share/man/man1/aoti-dbg.1.gz"
}

man_page_renders() {
    local warnings
    warnings=$(MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 "$1" 2>&1 >/dev/null)
    [[ -z $warnings ]] || { echo "$warnings"; return 1; }
}
