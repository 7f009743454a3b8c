# Gathers from a build what scripts/gpu-check needs on a machine that cannot build. Sourced by it.
# shellcheck shell=bash disable=SC2154

# Programs and libraries without debug information, which would be most of their size.
carry() {
    mkdir -p "$(dirname "$2")"
    cp -L "$1" "$2"
    strip --strip-debug "$2"
}

# pack BUILD FOLDER
pack() {
    local build=$1 folder=$2 program
    mkdir -p "$folder"
    folder=$(cd "$folder" && pwd)
    [[ $folder != "$build" ]] || die "the pack cannot be the build itself"
    for program in libaoti_dbg.so aoti-dbg bench/passage_bench bench/launch_bench bench/null/libcuda.so.1 \
        stats_kernels/libaoti_dbg_stats_kernels.a; do
        [[ -e $build/$program ]] || die "no $build/$program: cmake --build $build"
        carry "$build/$program" "$folder/$program"
    done
    rm -rf "$folder/tests"
    for program in "${portable_tests[@]%:*}"; do
        carry "$build/tests/$program" "$folder/tests/$program"
    done
    du -sh "$folder" | cut -f1 | sed "s|\$| in $folder|"
}
