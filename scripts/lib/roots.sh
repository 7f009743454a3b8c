# Other Debian and Ubuntu systems in a folder, to install a package there. Needs common.sh, packages.sh and a
# folder $scratch, which the caller removes after unmount_roots.
# shellcheck shell=bash disable=SC2154

system_name() {
    case $1 in
        bookworm) echo "Debian 12" ;;
        jammy) echo "Ubuntu 22.04" ;;
    esac
}

mirror() {
    case $1 in
        bookworm) echo "http://deb.debian.org/debian" ;;
        jammy) echo "http://archive.ubuntu.com/ubuntu" ;;
    esac
}

root_archive() { echo "$cache/roots/$1.tar"; }

reachable() {
    python3 - "$1" <<'PYTHON'
import sys
import urllib.request

try:
    urllib.request.urlopen(sys.argv[1], timeout=10)
except OSError:
    sys.exit(1)
PYTHON
}

# Prints why a system cannot be tried here. Fails if it can.
why_no_root() {
    if ((EUID != 0)); then
        echo "chroot needs root"
    elif [[ -e $(root_archive "$1") ]]; then
        return 1
    elif ! command -v debootstrap >/dev/null; then
        echo "debootstrap is not installed"
    elif [[ ${AOTI_DBG_OFFLINE:-0} != 0 ]]; then
        echo "AOTI_DBG_OFFLINE is set"
    elif ! reachable "$(mirror "$1")/dists/$1/Release"; then
        echo "$(mirror "$1") cannot be reached"
    else
        return 1
    fi
}

# Prints the file with the keys of a system's packages. Debian 12 has no package with those of Ubuntu, so they
# come from Ubuntu's package, which has a known hash.
keys() {
    local file=/usr/share/keyrings/debian-archive-keyring.gpg
    local hash=0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f
    if [[ $1 == jammy ]]; then
        file=/usr/share/keyrings/ubuntu-archive-keyring.gpg
        if [[ ! -e $file ]]; then
            python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(sys.argv[1], sys.argv[2])' \
                "$(mirror jammy)/pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb" "$scratch/keys.deb" &&
                echo "$hash  $scratch/keys.deb" | sha256sum --check --quiet >&2 &&
                dpkg-deb -x "$scratch/keys.deb" "$scratch/keys" || return
            file=$scratch/keys$file
        fi
    fi
    echo "$file"
}

# Keeps a fresh system as an archive.
make_root() {
    local archive keyring
    archive=$(root_archive "$1")
    keyring=$(keys "$1") || return
    debootstrap --variant=minbase --keyring="$keyring" "$1" "$scratch/new-$1" "$(mirror "$1")" || return
    rm -rf "$scratch/new-$1"/var/cache/apt/archives/*.deb "$scratch/new-$1"/var/lib/apt/lists/*
    mkdir -p "${archive%/*}" &&
        tar -C "$scratch/new-$1" --one-file-system -cf "$archive.partial" . &&
        mv "$archive.partial" "$archive" &&
        rm -rf "${scratch:?}/new-$1"
}

# Makes several at once.
make_roots() {
    local system job jobs=() status=0
    for system in "$@"; do
        make_root "$system" &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do
        wait "$job" || status=$?
    done
    return "$status"
}

mounted=()
unmount_roots() {
    local folder
    for folder in "${mounted[@]}"; do
        umount "$folder" || true
    done
    mounted=()
}

# Lists what a package could leave behind. dpkg and the loader keep records there.
files_of() {
    (cd "$1" && find . -path ./proc -prune -o -path ./var/lib/dpkg -prune -o -path ./var/cache/ldconfig -prune -o \
        -path ./var/log -prune -o -path ./tmp -prune -o -path ./etc/ld.so.cache -prune -o -print | sort)
}

# try_on SYSTEM PACKAGES: installs the .deb files, uses and purges them. Uses the archive in /opt, too.
try_on() {
    local system=$scratch/$1 status=0
    mkdir "$system" && tar -C "$system" -xf "$(root_archive "$1")" || return
    if mount -t proc proc "$system/proc"; then
        mounted+=("$system/proc")
    fi
    try_in "$system" "$2" || status=$?
    unmount_roots
    rm -rf "${system:?}"
    return "$status"
}

in_root() {
    local system=$1
    shift
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 chroot "$system" "$@"
}

try_in() {
    local system=$1
    files_of "$system" >"$scratch/before" || return
    cp "$2"/*.deb "$2"/*-linux-x86_64.tar.gz "$root/scripts/lib/try_installation.sh" "$system/tmp" || return
    in_root "$system" sh -c 'dpkg -i /tmp/*.deb' &&
        in_root "$system" bash /tmp/try_installation.sh /usr &&
        in_root "$system" sh -c 'test "$(command -v aoti-dbg)" = /usr/bin/aoti-dbg' || return
    in_root "$system" dpkg -P aoti-dbg-dbgsym aoti-dbg || return
    files_of "$system" >"$scratch/after" || return
    diff "$scratch/before" "$scratch/after" || { echo "the package left these files"; return 1; }
    in_root "$system" sh -c 'mkdir /opt/tried && tar -xzf /tmp/*.tar.gz -C /opt/tried --strip-components=1' &&
        in_root "$system" bash /tmp/try_installation.sh /opt/tried
}
