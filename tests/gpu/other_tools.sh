# What step tools of scripts/gpu-check does: what others say of the bugs of step triage, run bare, by CUDA_LAUNCH_BLOCKING=1, with
# PyTorch's debug printer compiled in, and by compute-sanitizer; and how programs end whose faults only the driver reports.
# Nothing is judged: $out/other_tools.txt is what docs/explanation/verdicts.md is written from. Sourced by cases.sh, by whose rules cases go.
# shellcheck shell=bash disable=SC2154,SC2034

# The bugs of seeded_victim.cpp and the model of each.
model_of_bug=(freed:fault_rows freed:linear device:fault_rows rows:fault_rows bad_input:fault_custom_op graph:fault_index_read
    dtype:fault_rows misaligned_constant:fault_rows constants:linear memory:fault_rows bad_input:fault_hang race:fault_rows
    race_of_copy:fault_rows)

with_printer() {
    local models=("${model_of_bug[@]#*:}")
    mapfile -t models < <(printf '%s\n' "${models[@]}" | sort -u)
    TORCHINDUCTOR_COMPILE_THREADS=1 limited 440 "$python" "$root/bench/compile_models.py" --device "$device" \
        --out "$packages" "${models[@]/%/-printer}"
}

# summarize FOLDER TITLE PATTERN MOST: how it ended, and the last lines that say something.
summarize() {
    printf '%s: ended with %s\n' "$2" "$(<"$case_folder/$1/status")"
    cat "$case_folder/$1"/std{out,err} | grep -aE "$3" | tail -n "$4" | cut -c1-240 | sed 's/^/    /'
}

tools_case() {
    local bug=$1 model=$2 victim=$programs/seeded_victim says='[Ee]rror|terminate|what\(\)|complained|ssert'
    need_gpu && need "$victim" "$packages/$model"-{released,printer}.pt2 || return
    run_in bare 30 "$victim" "$bug" "$packages/$model-released.pt2" &
    run_in blocking 30 env CUDA_LAUNCH_BLOCKING=1 "$victim" "$bug" "$packages/$model-released.pt2" &
    run_in printer 30 "$victim" "$bug" "$packages/$model-printer.pt2" &
    run_in sanitizer 100 compute-sanitizer --tool memcheck --print-limit 2 "$victim" "$bug" "$packages/$model-released.pt2" &
    wait
    {
        printf '== %s of %s\n' "$bug" "$model"
        summarize bare bare "$says" 2
        summarize blocking CUDA_LAUNCH_BLOCKING=1 "$says" 2
        summarize printer "PyTorch's printer, level 3" "$says|_launch" 4
        summarize sanitizer compute-sanitizer '^=========' 24
    } | tee -a "$out/other_tools.txt"
}

# dump_case KIND COUNT AT_ONCE: how a program ends that asks the driver for a core dump of its fault itself. One that hangs is
# ended by signal 15 (124).
dump_case() {
    local kind=$1 count=$2 at_once=$3 i
    need_gpu && need "$programs/fault_victim" || return
    for ((i = 0; i < count; ++i)); do
        await_room "$at_once"
        run_in "$i" 20 "$programs/fault_victim" "$kind" 100 "$((i * 37 % 100))" 3 sync dump >"$case_folder/$i.said" &
    done
    wait
    {
        printf "== the driver's core dump of %s, %s programs, %s at a time: how many ended with which status\n" "$kind" "$count" "$at_once"
        cat "$case_folder"/*/status | sort -n | uniq -c
    } | tee -a "$out/other_tools.txt"
    rm -f "$case_folder"/*/{dump,core*}
}

tools_cases() {
    local one
    begin "compile models with PyTorch's printer" with_printer
    check_begun
    for one in "${model_of_bug[@]}"; do check "others: ${one/:/ of }" tools_case "${one%:*}" "${one#*:}"; done
    for one in load trap stack; do check "the driver's dump alone: $one" dump_case "$one" 48 6; done
    ((list)) || say "what they said: $out/other_tools.txt"
}
