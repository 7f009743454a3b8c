# What step level-1 of scripts/gpu-check does: tensors on disk, against what level 2 measures of them and what the program
# does without the library. Sourced by cases.sh, by whose rules cases go. Nothing here depends on times.
# shellcheck shell=bash disable=SC2154,SC2034

# saved_in FOLDER SECONDS [NAME=VALUE...] COMMAND...: under the library at level 1.
saved_in() {
    run_in "$1" "$2" env LD_PRELOAD="$library" AOTI_DBG_LEVEL=1 AOTI_DBG_LOG="$case_folder/$1/log" \
        AOTI_DBG_OUT="$case_folder/$1/out" "${@:3}"
}
# Tensors were saved, all of them, and nothing was left to names.
was_saved() {
    local index=$case_folder/$1/out/tensors/index.jsonl
    tail -n 1 "$index" && tail -n 1 "$index" | grep -q '"how":"complete"' && grep -q '"event":"file"' "$index" &&
        [[ ! -s $case_folder/$1/log ]]
}
# Files are many and large; what is judged needs them no more.
forget_files() { rm -rf "$case_folder/$1/out/tensors"; }

# As case two_models of level 2; and of each tensor the file holds what was measured.
saved_two_models_case() {
    local variants=$1 both=("$packages"/{transformer,mixed}-released.pt2)
    need "$programs/two_models" "${both[@]}" || return
    local command=("$programs/two_models" "$device" 6 held.jsonl "$variants" "${both[@]}")
    bare 150 "${command[@]}" &
    saved_in saved 150 AOTI_DBG_LEVEL=stats,files AOTI_DBG_STATS=full AOTI_DBG_REUSE=off "${command[@]}" &
    wait
    good bare && cat "$case_folder/bare/stdout" || return
    diff "$case_folder"/{bare,saved}/stdout && diff "$case_folder"/{bare,saved}/status &&
        diff <(program_errors "$case_folder/bare/stderr") <(program_errors "$case_folder/saved/stderr") &&
        python3 "$root/tests/gpu/two_models.py" "$case_folder"/saved/{held.jsonl,out/events.jsonl} "$variants" &&
        "$python" "$root/tests/gpu/saved.py" "$case_folder"/saved/out/{events.jsonl,tensors} && forget_files saved
}

# Every model as released, against what PyTorch's printer prints of it.
saved_parity_case() {
    local released=("${measured[@]/%/-released.pt2}") judges=("${measured[@]/%/-statistics.pt2}")
    released=("${released[@]/#/$packages/}") judges=("${judges[@]/#/$packages/}")
    need "$programs/model_victim" "${released[@]}" "${judges[@]}" || return
    run_in judge 150 "$programs/model_victim" every_input "$device" "${judges[@]}" &
    bare 150 "$programs/model_victim" every_input "$device" "${released[@]}" &
    saved_in seen 150 "$programs/model_victim" every_input "$device" "${released[@]}"
    wait
    good judge && alike 0 && was_saved seen &&
        "$python" "$root/tests/gpu/saved_by_torch.py" printed seen/out/tensors judge/stdout && forget_files seen
}

# A model against the files that PyTorch's printer saves of it, bit for bit.
saved_bits_case() {
    local saving=$packages/$1-alike_saving.pt2 alike=$packages/$1-alike.pt2
    need "$programs/model_victim" "$saving" "$alike" || return
    # PyTorch wants a folder, and writes beside it.
    mkdir -p "$case_folder/judge/tmp/aoti_torch"
    run_in judge 100 "$programs/model_victim" once "$device" "$saving" &
    saved_in seen 100 "$programs/model_victim" once "$device" "$alike"
    wait
    good judge && good seen && was_saved seen && cd "$case_folder" &&
        "$python" "$root/tests/gpu/saved_by_torch.py" bits seen/out/tensors judge && forget_files seen
}

# saved_model_case MODE STATUS PACKAGE...: as without the library, and every tensor has its file.
saved_model_case() {
    local mode=$1 status=$2 paths
    shift 2
    paths=("${@/#/$packages/}")
    need "$programs/model_victim" "${paths[@]}" || return
    bare 120 "$programs/model_victim" "$mode" "$device" "${paths[@]}" &
    saved_in seen 120 "$programs/model_victim" "$mode" "$device" "${paths[@]}"
    wait
    alike "$status" || return
    # An end by a signal leaves files without a last line.
    [[ $status -ge 128 ]] || was_saved seen || return
    forget_files seen
}

# Models and captures in Python.
python_saved_case() {
    captures_case 1 && grep -q '"event":"file"' "$case_folder"/seen/out/tensors/index.jsonl && forget_files seen
}

# The kernel that brings tensors to the host: saving_case [SANITIZER_TOOL].
saving_case() { checked_victim_case save_victim 5 "$@"; }

level_1_cases() {
    deadline=330
    local both=(transformer-released.pt2 mixed-released.pt2) streams=alone,legacy,own model
    [[ $device == cpu ]] ||
        streams+=,blocking,pool,legacy_and_own,legacy_and_blocking,own_and_per_thread
    check "level 1: two models, threads and streams" saved_two_models_case "$streams"
    check "level 1: two models on two GPUs" on_two saved_two_models_case alone,devices,devices_own
    check "level 1: equal to PyTorch's printer" saved_parity_case
    for model in "${measured[@]}"; do
        check "level 1: the bits that PyTorch saves of $model" saved_bits_case "$model"
    done
    check "level 1: threads" saved_model_case threads 0 "${both[@]}"
    check "level 1: reload" saved_model_case reload 0 "${both[@]}"
    check "level 1: exit at once" saved_model_case exit_at_once 5 "${both[@]}"
    check "level 1: abort at once" saved_model_case abort_at_once 134 "${both[@]}"
    check "level 1: Python, captures" python_saved_case
    check "saving" saving_case
    check "saving: memcheck" saving_case memcheck
    check "saving: racecheck" saving_case racecheck
    check "saving: initcheck" saving_case initcheck
}
