# The cases of scripts/gpu-check, which sources this: what each step does, and how a program is run bare and under
# the library and compared. A case's function ends with 0 passed, 77 skipped, else failed, and chains with &&, as it
# runs where `set -e` is off. Uses of it: root, build, library, out, python, device, argument, case_folder.
# shellcheck shell=bash disable=SC2154,SC2034

programs=$out/programs
packages=$out/packages/$device
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
# Beside nvcc and not always on the path.
PATH=$PATH:$(dirname "$nvcc"):/usr/local/cuda/bin

limited() { timeout -k 5 "$@"; }
skip() {
    echo "note: $*"
    return 77
}
need() {
    local program
    for program in "$@"; do
        [[ -e $program ]] && continue
        echo "note: no ${program#"$out"/}: scripts/gpu-check build comes first"
        return 1
    done
}
need_gpu() { [[ $device == cuda ]] || skip "needs a GPU"; }
# on_two FUNCTION [ARGUMENT...]
on_two() {
    (($(nvidia-smi -L 2>/dev/null | grep -c '^GPU') >= 2)) || skip "needs 2 GPUs" || return
    "$@"
}

# ---- work of several cases at once ----

# await_room COUNT: until fewer jobs than that run. Others report how one has ended.
await_room() {
    while (($(jobs -rp | wc -l) >= $1)); do wait -n || true; done
}

begun=()
# begin NAME FUNCTION [ARGUMENT...]: the case's work begins now, beside others on half of the processors.
begin() {
    local name=$1 work=$out/run/begun-${#begun[@]} most=$(($(nproc) / 2))
    shift
    chosen "$name" || return 0
    if ((list == 0)); then
        await_room "$((most > 1 ? most : 1))"
        if ((SECONDS > deadline)); then
            left=$((left + 1))
            return
        fi
        rm -f "$work.status"
        (
            set +e
            "$@"
            echo $? >"$work.status"
        ) </dev/null >"$work.log" 2>&1 &
    fi
    begun+=("$name" "$work" "${!:-0}")
}
# The cases that have begun, each when it has ended.
check_begun() {
    local i
    deadline=$((SECONDS + 600))
    for ((i = 0; i < ${#begun[@]}; i += 3)); do check "${begun[i]}" ended "${begun[@]:i+1:2}"; done
}
ended() {
    while kill -0 "$2"; do sleep 0.2; done 2>/dev/null
    cat "$1.log"
    [[ -s $1.status ]] && return "$(<"$1.status")"
}

# ---- running bare and under the library ----

# bare SECONDS COMMAND...: standard output, error and status into bare/.
bare() { run_in bare "$@"; }

# seen SECONDS COMMAND...: the same under the library at level 3, names into seen/log.PID. `scope` and `level` are
# taken from the caller.
seen() {
    local seconds=$1
    shift
    run_in seen "$seconds" env LD_PRELOAD="$library" AOTI_DBG_LEVEL="${level:-3}" AOTI_DBG_SCOPE="${scope:-model}" \
        AOTI_DBG_LOG="${log_to:-$case_folder/seen/log.%p}" AOTI_DBG_OUT="$case_folder/seen/out" "$@"
}

# Where the time of neither matters, both run at once.
bare_and_seen() {
    bare "$@" &
    seen "$@" &
    wait
}

run_in() {
    local folder=$case_folder/$1 seconds=$2 status=0
    shift 2
    mkdir -p "$folder"
    (cd "$folder" && limited "$seconds" "$@" >stdout 2>stderr) || status=$?
    echo "$status" >"$folder/status"
    ((status != 124 && status != 137)) || echo "$folder: not done after $seconds s"
}

# Without our lines; numbers (processes, times, addresses) differ between any two runs, and torch's stack traces show
# the frames of libraries in between.
program_errors() {
    grep -avE '^aoti-dbg\[|^ *\[ (before|after)_launch: |frame #' "$1" | sed -E 's/0x[0-9a-f]+|[0-9]+/N/g'
    return 0
}

# alike [STATUS]: what was printed and how it ended is the same, and, where given, as it ought to be.
alike() {
    cd "$case_folder" || return
    diff bare/status seen/status && diff bare/stdout seen/stdout &&
        diff <(program_errors bare/stderr) <(program_errors seen/stderr) || return
    [[ -z ${1:-} || $(<bare/status) == "$1" ]] || {
        tail -n 5 bare/stderr
        echo "ended with $(<bare/status) even when bare"
        return 1
    }
}

# good bare|seen: it ended with 0.
good() {
    [[ $(<"$case_folder/$1/status") == 0 ]] || {
        tail -n 20 "$case_folder/$1/stderr"
        echo "$1: ended with $(<"$case_folder/$1/status")"
        return 1
    }
}

# Names were written: the library was there, and what was compared was not twice the bare program.
was_seen() {
    cat "$case_folder"/seen/log.* >"$case_folder/log" 2>/dev/null
    grep -q before_launch "$case_folder/log" || {
        tail -n 5 "$case_folder/seen/stderr"
        echo "no launch was logged: was the library loaded?"
        return 1
    }
}

# As many launches as the program says it made.
counted() {
    local number
    number=$(sed -n 's/^launches //p' "$case_folder/seen/stdout" | tail -n 1)
    [[ -z $number ]] || python3 "$root/tests/gpu/names.py" count "$case_folder/log" "$number"
}

# ---- step build: makes what is missing or older than its source ----

fresh_enough() {
    local program=$1 source
    shift
    for source in "$@"; do [[ $program -nt $source ]] || return 1; done
}
torch_program() {
    local source=$1 program=$programs/$2
    fresh_enough "$program" "$source" || limited 200 "$root/bench/torch_program.sh" "$python" "$source" "$program"
}
cuda_program() {
    local source=$1 program=$programs/$2
    shift 2
    need_gpu || return
    [[ -x $nvcc ]] || skip "no nvcc" || return
    mkdir -p "$programs"
    # For the oldest GPU that the toolkits in use can compile for; its PTX runs on every newer one.
    fresh_enough "$program" "$source" ||
        limited 200 "$nvcc" -O2 -std=c++17 -arch=sm_75 -I "$root" -o "$program" "$source" "$@"
}
driver_program() {
    need_gpu || return
    local toolkit=${nvcc%/bin/nvcc} program=$programs/driver_victim source=$root/tests/gpu/driver_victim.cpp
    mkdir -p "$programs"
    local compile=("${CXX:-g++}" -std=c++20 -O2 -Wall -Wextra -isystem "$toolkit/include" -o "$program" "$source")
    # Against the toolkit's stand-in for the driver, or the driver itself.
    fresh_enough "$program" "$source" ||
        limited 100 "${compile[@]}" -L "$toolkit/lib64/stubs" -lcuda -ldl || limited 100 "${compile[@]}" -l:libcuda.so.1 -ldl
}
# With the statistics of the build: they are linked, and checked and measured without the library.
stats_program() {
    local source=$1 program=$programs/$2 statistics=$build/stats_kernels/libaoti_dbg_stats_kernels.a
    need_gpu || return
    [[ -x $nvcc ]] || skip "no nvcc" || return
    [[ -e $statistics ]] || skip "no ${statistics#"$build"/} in the build" || return
    mkdir -p "$programs"
    fresh_enough "$program" "$source" "$root/tests/gpu/stats_device.hpp" "$statistics" ||
        limited 200 "$nvcc" -std=c++20 -O2 -arch=native -I "$root" -o "$program" "$source" "$statistics" -ldl
}
# For this GPU: what the driver compiles itself has no lines.
fault_program() {
    local source=$root/tests/gpu/fault_victim.cu program=$programs/fault_victim
    need_gpu || return
    [[ -x $nvcc ]] || skip "no nvcc" || return
    mkdir -p "$programs"
    fresh_enough "$program" "$source" ||
        limited 200 "$nvcc" -std=c++17 -O2 -lineinfo -arch=native -o "$program" "$source"
}
compile_packages() {
    # With one thread each to compile in: the models are compiled in processes beside one another.
    TORCHINDUCTOR_COMPILE_THREADS=1 limited 440 "$python" "$root/bench/compile_models.py" --device "$device" \
        --out "$packages" {transformer,mixed}-{released,printer} linear-released \
        "${measured[@]/%/-released}" "${measured[@]/%/-statistics}" \
        "${measured[@]/%/-alike}" "${measured[@]/%/-alike_saving}" "${faulty[@]/%/-released}" pointwise-{released,statistics}
}
build_cases() {
    state=/dev/null # these know by themselves what is done
    begin "compile models with AOTInductor" compile_packages
    begin "compile stats_victim" stats_program "$root/tests/gpu/stats_victim.cu" stats_victim
    begin "compile overlap_victim" stats_program "$root/tests/gpu/overlap_victim.cu" overlap_victim
    begin "compile stats_bench" stats_program "$root/bench/stats_bench.cu" stats_bench
    begin "compile save_victim" stats_program "$root/tests/gpu/save_victim.cu" save_victim
    begin "compile copy_bench" stats_program "$root/bench/copy_bench.cu" copy_bench
    begin "compile fault_victim" fault_program
    begin "compile model_bench" torch_program "$root/bench/model_bench.cpp" model_bench
    begin "compile model_victim" torch_program "$root/tests/gpu/model_victim.cpp" model_victim
    begin "compile seeded_victim" torch_program "$root/tests/gpu/seeded_victim.cpp" seeded_victim
    begin "compile two_models" torch_program "$root/tests/gpu/two_models.cpp" two_models
    begin "compile the example server" torch_program "$root/examples/server/main.cpp" aoti_server
    begin "compile empty_kernels" cuda_program "$root/bench/empty_kernels.cu" empty_kernels
    begin "compile runtime_victim" cuda_program "$root/tests/gpu/runtime_victim.cu" runtime_victim
    begin "compile runtime_victim, a stream a thread" cuda_program "$root/tests/gpu/runtime_victim.cu" \
        runtime_victim_ptds --default-stream per-thread
    begin "compile driver_victim" driver_program
    check_begun
}

# ---- programs bare and under the library ----

runtime_case() {
    need_gpu && need "$programs/$1" || return
    local scope=all
    bare 60 "$programs/$1" "$2"
    seen 60 "$programs/$1" "$2"
    alike && not_unexpected && was_seen && counted
}
# A victim that ends with 9 met something that it did not expect, whether the library is there or not.
not_unexpected() { [[ $(<"$case_folder/bare/status") != 9 ]] || { cat "$case_folder/bare/stdout" && return 1; }; }

# model_case MODE STATUS PACKAGE...
model_case() {
    local mode=$1 status=$2 paths
    shift 2
    paths=("${@/#/$packages/}")
    need "$programs/model_victim" "${paths[@]}" || return
    bare_and_seen 120 "$programs/model_victim" "$mode" "$device" "${paths[@]}"
    alike "$status" || return
    case ${level:-3}${log_to:-} in
        2 | 3) was_seen ;;
        3stderr) grep -q before_launch "$case_folder/seen/stderr" ;;
        *) ! compgen -G "$case_folder/seen/log.*" ;;
    esac
}
model_case_with() {
    local "$1" "$2"
    shift 2
    model_case "$@"
}

server_case() {
    need "$programs/aoti_server" "$packages/linear-released.pt2" || return
    local ask="printf '%s\n' '1 2 3 4 5 6 7 8 9 10 11 12' 'no numbers' '1 2' \"\$(seq -s ' ' 0 35)\" |"
    bare 60 bash -c "$ask '$programs/aoti_server' '$packages/linear-released.pt2' 12"
    seen 60 bash -c "$ask '$programs/aoti_server' '$packages/linear-released.pt2' 12"
    alike 0 && was_seen && [[ $(grep -c '^ok' "$case_folder/seen/stdout") == 2 ]]
}

# ---- step test ----

names_case() {
    local released=("$packages"/{transformer,mixed}-released.pt2) printer=("$packages"/{transformer,mixed}-printer.pt2)
    need "$programs/model_victim" "${released[@]}" "${printer[@]}" || return
    bare 120 "$programs/model_victim" once "$device" "${printer[@]}"
    seen 120 "$programs/model_victim" once "$device" "${released[@]}"
    good bare && good seen && was_seen &&
        python3 "$root/tests/gpu/names.py" subsequence "$case_folder/bare/stdout" "$case_folder/log"
}

# What the ops launch themselves, in the libraries they use, is shown indented.
scope_case() {
    local released=("$packages"/{transformer,mixed}-released.pt2) scope=all
    need "$programs/model_victim" "${released[@]}" || return
    seen 120 "$programs/model_victim" once "$device" "${released[@]}"
    good seen && was_seen && need_gpu && grep -q '^ \+\[ before_launch: ' "$case_folder/log" &&
        echo "note: $(grep -c '^ .*before_launch' "$case_folder/log") launches inside of ops"
}

# The second of two runs, its Triton kernels (or those of the CPU), one side, by the command: what is left of the log of
# the second model alone.
selection_case() {
    local kernels='triton_*' first=$packages/transformer-released.pt2 second=$packages/mixed-released.pt2
    [[ $device == cuda ]] || kernels='cpp_*'
    need "$programs/model_victim" "$first" "$second" || return
    seen 120 "$programs/model_victim" once "$device" "$second"
    good seen && was_seen || return
    grep -F "[ before_launch: ${kernels%\*}" "$case_folder/log" >"$case_folder/expected" || return
    run_in selected 120 "$build/aoti-dbg" run --kernels "$kernels,!no_such_*" --runs 1 --side before --require launch \
        --log "$case_folder/selected/log" --out "$case_folder/selected/out" -- \
        "$programs/model_victim" once "$device" "$first" "$second"
    good selected && diff "$case_folder/expected" "$case_folder/selected/log" &&
        echo "note: $(wc -l <"$case_folder/expected") lines of $(wc -l <"$case_folder/log")"
}

python_case() {
    need "$packages"/{transformer,mixed}-released.pt2 || return
    bare 240 "$python" -W ignore "$root/tests/gpu/python_victim.py" "$device" "$packages"
    seen 240 "$python" -W ignore "$root/tests/gpu/python_victim.py" "$device" "$packages"
    cat "$case_folder/bare/stdout"
    # What torch says on standard error depends on the time.
    diff "$case_folder/bare/stdout" "$case_folder/seen/stdout" && good bare && good seen && was_seen &&
        need "$programs/model_victim" || return
    run_in names 120 env LD_PRELOAD="$library" AOTI_DBG_LEVEL=3 AOTI_DBG_LOG="$case_folder/names/log" \
        AOTI_DBG_OUT="$case_folder/names/out" "$programs/model_victim" once "$device" \
        "$packages"/{transformer,mixed}-released.pt2
    python3 "$root/tests/gpu/names.py" begins "$case_folder/log" "$case_folder/names/log" &&
        echo "note: $(wc -l <"$case_folder/bare/stdout") cases alike; names as in C++"
}

# A tool of CUDA's: works_with TOOL PATTERN COMMAND...: the lines of what it prints that match the pattern are the
# same under the library, which is loaded too.
# ncu puts itself before every look-up of the driver, so nothing is seen under it: there it must only not be
# disturbed, nor the program.
works_with() {
    local tool=$1 pattern=$2 scope=all
    shift 2
    need_gpu && need "$programs/runtime_victim" || return
    command -v "$tool" >/dev/null || skip "no $tool" || return
    bare 100 "$@"
    cat "$case_folder"/bare/{stdout,stderr} | grep -aoE "$pattern" >"$case_folder/bare/lines" ||
        skip "$tool does not work here without the library either: $(tail -n 1 "$case_folder/bare/stdout")" || return
    seen 100 "$@"
    cat "$case_folder"/seen/{stdout,stderr} | grep -aoE "$pattern" >"$case_folder/seen/lines"
    diff "$case_folder/bare/lines" "$case_folder/seen/lines" && diff "$case_folder"/{bare,seen}/status &&
        { [[ $tool == ncu ]] || was_seen; } && echo "note: $(wc -l <"$case_folder/seen/lines") lines alike: $(head -n 1 "$case_folder/seen/lines")"
}
sanitizer_case() {
    works_with compute-sanitizer 'ERROR SUMMARY: .*|Invalid __global__ .*|^sum .*' \
        compute-sanitizer --tool memcheck "$programs/runtime_victim" "$1"
}
debugger_case() {
    # The debugger hands its environment to the program: the library is in both. What the program prints can stand in
    # the middle of a line of the debugger's.
    works_with cuda-gdb 'exited (normally|with code [0-9]+)|CUDA_EXCEPTION_[0-9]+[^.]*|sum [0-9.]+' \
        cuda-gdb -nx -batch -ex 'set startup-with-shell off' -ex run -ex 'info cuda kernels' --args \
        "$programs/runtime_victim" "$1"
}
profiler_case() {
    works_with ncu '[A-Za-z_]+\(.*\) \([0-9, ]+\)x\([0-9, ]+\), Context.*' \
        ncu --target-processes all --launch-count 6 "$programs/runtime_victim" results
}

# unit_case PROGRAM FILE: the tests in that source file
unit_case() {
    limited 120 "$build/tests/$1" --filenames-as-tags "[#$2_test]"
}

test_cases() {
    local test
    check "names equal to PyTorch's printer (C++)" names_case
    check "Python: models, torch.compile, captures, profiler" python_case
    check "kernels of libraries inside ops" scope_case
    check "selection by the command" selection_case
    check "transparency: models in C++" model_case results 0 transformer-released.pt2 mixed-released.pt2
    check "transparency: the example server" server_case
    check "CUDA runtime program" runtime_case runtime_victim results
    check "CUDA runtime program, a stream a thread" runtime_case runtime_victim_ptds results
    check "driver program" runtime_case driver_victim linked
    check "driver program, entry points" runtime_case driver_victim entry_points
    check "capture in one thread, launches in another" runtime_case runtime_victim graph_threads
    check "compute-sanitizer" sanitizer_case results
    check "compute-sanitizer finds a fault" sanitizer_case fault
    check "cuda-gdb" debugger_case results
    check "cuda-gdb stops at a fault" debugger_case fault
    check "ncu" profiler_case
    # In a build ctest runs them.
    if [[ ! -e $build/CMakeCache.txt ]]; then
        for test in "${portable_tests[@]}"; do
            check "unit: ${test#*:}" unit_case "${test%:*}" "${test#*:}"
        done
    fi
}

# ---- step victims N/M ----

victim_number=0
victim() {
    victim_number=$((victim_number + 1))
    ((victim_number % ${argument#*/} == ${argument%/*} % ${argument#*/})) || return 0
    check "$@"
}
# The modes that a program's table lists, from its source: it needs a driver to start.
modes_of() { sed -nE 's/^ *\{"([a-z_]+)", [a-z_]+, (true|false)\},$/\1/p' "$1"; }

victims_cases() {
    ((${argument%/*} <= ${argument#*/})) || die "there is no part $argument"
    local mode both=(transformer-released.pt2 mixed-released.pt2)
    victim "model: threads" model_case threads 0 "${both[@]}"
    victim "model: reload" model_case reload 0 "${both[@]}"
    victim "model: refused" model_case refused 0 mixed-released.pt2
    victim "model: exit at once" model_case exit_at_once 5 "${both[@]}"
    victim "model: abort at once" model_case abort_at_once 134 "${both[@]}"
    victim "model: with PyTorch's printer" model_case results 0 transformer-printer.pt2 mixed-printer.pt2
    victim "model: level 0" model_case_with level=0 scope=model results 0 "${both[@]}"
    victim "model: scope all" model_case_with level=3 scope=all results 0 "${both[@]}"
    victim "model: names to standard error" model_case_with log_to=stderr scope=all results 0 "${both[@]}"
    while read -r mode; do
        victim "runtime: $mode" runtime_case runtime_victim "$mode"
        victim "runtime, a stream a thread: $mode" runtime_case runtime_victim_ptds "$mode"
    done < <(modes_of "$root/tests/gpu/runtime_victim.cu")
    while read -r mode; do
        victim "driver: $mode" runtime_case driver_victim "$mode"
    done < <(modes_of "$root/tests/gpu/driver_victim.cpp")
}

# ---- step bench ----

# bench_case GROUP [REPETITIONS]
bench_case() {
    local options=(--build "$build" --out "$out" --only "$1" --repetitions "${2:-5}" --at-most 220)
    local table=$case_folder/table status=0
    [[ $device == cpu ]] || options+=(--gpu)
    limited 280 "$root/scripts/bench" "${options[@]}" >"$table" || status=$?
    # The table itself belongs to the results, too, also where a variant has failed.
    sed -n '/^\*\*/,$p' "$table" >>"$out/results.md"
    cat "$table"
    echo "note: $(grep -c ': reached' "$table") within reach, $(grep -c MISSED "$table") missed"
    return "$status"
}
bench_bert() {
    "$python" -c 'import transformers' || skip "no Python package transformers" || return
    bench_case cost:bert 3
}
# Beside a device copy and CUB, without the library: a table of its own.
bench_statistics() {
    need_gpu && need "$programs/stats_bench" || return
    limited 120 "$programs/stats_bench" >"$out/statistics.txt" &&
        echo "note: $(grep -a '^float32 *printed ' "$out/statistics.txt" | tr -s ' ')"
}
bench_copies() {
    need_gpu && need "$programs/copy_bench" || return
    limited 120 "$programs/copy_bench" >"$out/copies.txt" && cat "$out/copies.txt" &&
        echo "note: $(grep -a ' by 64 blocks' "$out/copies.txt" | tr -s ' ')"
}
bench_cases() {
    local group
    for group in passage launch; do check "bench: $group" bench_case "$group"; done
    if [[ $device == cuda ]]; then
        for group in transformer empty-kernels; do check "bench: $group" bench_case "$group"; done
        check "bench: triage" bench_case triage 3
        for group in cost:{transformer,pointwise}; do check "bench: $group" bench_case "$group" 3; done
        check "bench: cost:bert" bench_bert
        check "bench: save:transformer" bench_case save:transformer 3
        check "bench: save:pointwise" bench_case save:pointwise 3
        check "bench: statistics" bench_statistics
        check "bench: copies to the host" bench_copies
    else
        check "bench: transformer-cpu" bench_case transformer-cpu
        for group in cost-cpu:{transformer,pointwise}; do check "bench: $group" bench_case "$group" 3; done
    fi
}

# ---- steps level-2 and level-1 ----

# shellcheck source=level_2.sh
source "$root/tests/gpu/level_2.sh"
# shellcheck source=level_1.sh
source "$root/tests/gpu/level_1.sh"
# shellcheck source=compiled.sh
source "$root/tests/gpu/compiled.sh"
# shellcheck source=diff.sh
source "$root/tests/gpu/diff.sh"
# shellcheck source=replay.sh
source "$root/tests/gpu/replay.sh"
# shellcheck source=timeline.sh
source "$root/tests/gpu/timeline.sh"
# shellcheck source=triage.sh
source "$root/tests/gpu/triage.sh"
# shellcheck source=two_gpus.sh
source "$root/tests/gpu/two_gpus.sh"
# shellcheck source=other_tools.sh
source "$root/tests/gpu/other_tools.sh"
