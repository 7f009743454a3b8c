# What step level-2 of scripts/gpu-check does: what is measured, against PyTorch and against itself. Sourced by cases.sh,
# by whose rules cases go. Whatever takes long to start runs beside something else: nothing here depends on times.
# shellcheck shell=bash disable=SC2154,SC2034

# What level 2 is judged on: each as released and with PyTorch's printer for values.
measured=(linear_softmax frozen_conv transformer dynamic_batch indices_and_masks masked_attention mixed custom_op cat_100 views_and_bits)

# Level 2 on every model as released, against PyTorch's printer, by the rules of tests/models; and the results are those
# of the bare run.
parity_case() {
    local released=("${measured[@]/%/-released.pt2}") judges=("${measured[@]/%/-statistics.pt2}") level=2
    released=("${released[@]/#/$packages/}") judges=("${judges[@]/#/$packages/}")
    need "$programs/model_victim" "${released[@]}" "${judges[@]}" || return
    run_in judge 150 "$programs/model_victim" every_input "$device" "${judges[@]}" &
    bare_and_seen 150 "$programs/model_victim" every_input "$device" "${released[@]}"
    good judge && alike 0 && was_seen && python3 "$root/tests/models/parity.py" judge/stdout log &&
        "$build/aoti-dbg" show --format text seen/out | diff -q log -
}

# A mask of -Inf is not a finding. The NaN of a fully masked row is one, at the softmax that creates it.
findings_case() {
    local package=$packages/masked_attention-released.pt2 log=$case_folder/alone/log
    local command=("$programs/model_victim" failing "$device" "$package")
    need "$programs/model_victim" "$package" || return
    bare 60 "${command[@]}"
    good bare || return
    run_in alone 60 env LD_PRELOAD="$library" AOTI_DBG_CHECK=nan,inf AOTI_DBG_LOG="$log" \
        AOTI_DBG_OUT="$case_folder/alone/out" "${command[@]}"
    diff "$case_folder"/{bare,alone}/stdout && diff "$case_folder"/{bare,alone}/status && cat "$log" || return
    [[ $(grep -cv '^  ' "$log") == 1 ]] && grep -q '^\[ finding 1: NaN in .*, first made by .*softmax.* \]$' "$log" &&
        grep -q '^  elements .*; first at \[2, 0\]' "$log" || return
    # The run that has it fails, and no other.
    run_in raise 60 env LD_PRELOAD="$library" AOTI_DBG_LEVEL=2 AOTI_DBG_ON_FINDING=raise \
        AOTI_DBG_LOG="$case_folder/raise/log" AOTI_DBG_OUT="$case_folder/raise/out" "${command[@]}"
    diff <(sed 2s/.*/failed/ "$case_folder/bare/stdout") "$case_folder/raise/stdout" &&
        diff "$case_folder"/{bare,raise}/status &&
        run_in suppressed 60 env LD_PRELOAD="$library" AOTI_DBG_CHECK=nan,inf AOTI_DBG_ON_FINDING=raise \
            AOTI_DBG_SUPPRESS="$(sed -n 's/^  suppress *//p' "$log")" AOTI_DBG_LOG="$case_folder/suppressed/log" \
            AOTI_DBG_OUT="$case_folder/suppressed/out" "${command[@]}" &&
        diff "$case_folder"/{bare,suppressed}/stdout && [[ ! -s $case_folder/suppressed/log ]] &&
        echo "note: $(head -n 1 "$log")"
}

# A weight is measured once, and again after each change: by a copy, and in memory that the caller keeps.
weights_case() {
    local package=$packages/linear_softmax-released.pt2 log=$case_folder/seen/log
    local command=("$python" -W ignore "$root/tests/gpu/weights_victim.py" "$device" "$package")
    need "$package" || return
    bare 100 "${command[@]}" &
    run_in seen 100 env LD_PRELOAD="$library" AOTI_DBG_CHECK=nan AOTI_DBG_LOG="$log" AOTI_DBG_OUT="$case_folder/seen/out" \
        "${command[@]}"
    wait
    cat "$case_folder/bare/stdout" "$log"
    diff "$case_folder"/{bare,seen}/stdout && good bare && good seen &&
        grep -q '^\[ finding 1: weight first.weight has NaN \]$' "$log" && grep -q '^  where .*, run 2, call 0$' "$log" &&
        grep -q '1 finding (1 repeat, ' "$case_folder/seen/stderr"
}

# two_models_case VARIANTS: two models at once, each in its thread and on streams of several kinds. The
# results are those of the bare program, and each run's tensors held what torch says that they held: with reuse, without,
# and with hashes, which show that every tensor of a run equals that of a run alone.
two_models_case() {
    local variants=$1 both=("$packages"/{transformer,mixed}-released.pt2) way
    need "$programs/two_models" "${both[@]}" || return
    local command=("$programs/two_models" "$device" 24 held.jsonl "$variants" "${both[@]}")
    bare 150 "${command[@]}" &
    measured_in reuse 150 AOTI_DBG_REUSE=on "${command[@]}" &
    measured_in everything 150 AOTI_DBG_REUSE=off "${command[@]}" &
    measured_in hashes 150 AOTI_DBG_REUSE=off AOTI_DBG_STATS=full "${command[@]}" &
    wait
    good bare && cat "$case_folder/bare/stdout" || return
    for way in reuse everything hashes; do
        echo "$way:"
        diff "$case_folder"/{bare,"$way"}/stdout && diff "$case_folder"/{bare,"$way"}/status &&
            diff <(program_errors "$case_folder/bare/stderr") <(program_errors "$case_folder/$way/stderr") &&
            python3 "$root/tests/gpu/two_models.py" "$case_folder/$way"/{held.jsonl,out/events.jsonl} "$variants" || return
    done
}
# measured_in FOLDER SECONDS [NAME=VALUE...] COMMAND...: at level 2.
measured_in() {
    run_in "$1" "$2" env LD_PRELOAD="$library" AOTI_DBG_LEVEL=2 AOTI_DBG_LOG="$case_folder/$1/log" \
        AOTI_DBG_OUT="$case_folder/$1/out" "${@:3}"
}

# Models and captures in Python at level 2.
python_measured_case() { captures_case 2; }

# captures_case LEVEL: what is captured is named. The profiler would see the library's own kernels.
captures_case() {
    local level=$1 command=("$python" -W ignore "$root/tests/gpu/python_victim.py" "$device" "$packages"
        package_transformer capture_beside_a_model captured_model)
    need_gpu && need "$packages"/{transformer,mixed}-released.pt2 || return
    bare_and_seen 120 "${command[@]}"
    cat "$case_folder/bare/stdout"
    grep -a '^aoti-dbg' "$case_folder/seen/stderr"
    diff "$case_folder/bare/stdout" "$case_folder/seen/stdout" && good bare && good seen && was_seen &&
        echo "note: $(wc -l <"$case_folder/bare/stdout") cases alike"
}

# The statistics kernel against the CPU's: statistics_case [SANITIZER_TOOL].
statistics_case() { checked_victim_case stats_victim 1 "$@"; }

# Kernels that ask to overlap still do, with the statistics kernel between them.
overlap_case() {
    need_gpu && need "$programs/overlap_victim" || return
    limited 60 "$programs/overlap_victim" | tee "$case_folder/overlap"
    local status=${PIPESTATUS[0]}
    ((status == 0)) && echo "note: $(tail -n 1 "$case_folder/overlap")"
    return "$status"
}

# A model on two streams is measured on the stream of each call. Without a wait between them, a race is found and names
# both. With the wait, none is.
streams_case() {
    local package=$case_folder/streams.pt2 program=("$python" -W ignore "$root/tests/gpu/streams_victim.py") kind
    need_gpu || return
    limited 120 "${program[@]}" compile "$package" || return
    bare 100 "${program[@]}" run "$package" &
    measured_in measured 100 "${program[@]}" run "$package" &
    for kind in joined UNJOINED; do
        run_in "$kind" 100 env LD_PRELOAD="$library" "$kind=1" AOTI_DBG_CHECK=races \
            AOTI_DBG_LOG="$case_folder/$kind/log" AOTI_DBG_OUT="$case_folder/$kind/out" "${program[@]}" run "$package" &
    done
    wait
    good bare && good measured && diff "$case_folder"/{bare,measured}/stdout && diff "$case_folder"/{bare,joined}/stdout &&
        "${program[@]}" judge "$case_folder/measured/stdout" "$case_folder/measured/out/events.jsonl" || return
    touch "$case_folder/joined/log"
    cat "$case_folder"/{joined,UNJOINED}/log
    ! grep -q '^\[ finding' "$case_folder/joined/log" &&
        grep -q '^\[ finding 1: triton_.*after aoti_torch_cuda_mm_out (writes it in run 0, call 1, on stream 0x' \
            "$case_folder/UNJOINED/log" && grep -q '^  where .*, on stream 0x' "$case_folder/UNJOINED/log"
}

# Two functions of torch.compile on two streams. Without a wait between them, a race is found. With the wait, none is, and
# no argument is wrong.
compiled_streams_case() {
    local program=("$python" -W ignore "$root/tests/gpu/compiled_streams_victim.py") kind
    need_gpu || return
    run_in bare 200 env JOINED=1 TORCHINDUCTOR_CACHE_DIR="$case_folder/inductor" "${program[@]}"
    for kind in JOINED UNJOINED; do
        run_in "$kind" 100 env LD_PRELOAD="$library" "$kind=1" AOTI_DBG_CHECK=args,races \
            TORCHINDUCTOR_CACHE_DIR="$case_folder/inductor" AOTI_DBG_LOG="$case_folder/$kind/log" \
            AOTI_DBG_OUT="$case_folder/$kind/out" "${program[@]}"
    done
    good bare && diff "$case_folder"/{bare,JOINED}/stdout || return
    touch "$case_folder/JOINED/log"
    cat "$case_folder"/{JOINED,UNJOINED}/log
    ! grep -q '^\[ finding' "$case_folder/JOINED/log" &&
        grep -q '^\[ finding 1: triton_.*: expected an event or a wait after .*, on stream 0x' "$case_folder/UNJOINED/log"
}

# A victim that checks itself: checked_victim_case NAME ROUNDS [SANITIZER_TOOL], with so many rounds under the tool.
checked_victim_case() {
    local victim=$programs/$1 rounds=$2 tool=${3:-}
    need_gpu && need "$victim" || return
    local command=("$victim")
    if [[ -n $tool ]]; then
        command -v compute-sanitizer >/dev/null || skip "no compute-sanitizer" || return
        command=(compute-sanitizer --tool "$tool" --error-exitcode 3 "$victim" 1 "$rounds")
    fi
    limited 150 "${command[@]}" >"$case_folder/checked" || {
        echo "ended with $?, where 124 is that it was not done after 150 s"
        tail -n 24 "$case_folder/checked"
        return 1
    }
    echo "note: $(grep -a '^ok: ' "$case_folder/checked")"
}

level_2_cases() {
    # What is left by then takes 150 s at most.
    deadline=330
    local both=(transformer-released.pt2 mixed-released.pt2) streams=alone,legacy,own
    [[ $device == cpu ]] ||
        streams+=,blocking,pool,legacy_and_own,legacy_and_blocking,own_and_per_thread
    check "level 2: equal to PyTorch's printer" parity_case
    check "level 2: two models, threads and streams" two_models_case "$streams"
    check "level 2: two models on two GPUs" on_two two_models_case alone,devices,devices_own
    check "level 2: findings" findings_case
    check "level 2: changed weights" weights_case
    check "level 2: Python, captures" python_measured_case
    check "level 2: model" model_case_with level=2 scope=model results 0 "${both[@]}"
    check "level 2: model, threads" model_case_with level=2 scope=model threads 0 "${both[@]}"
    check "level 2: model, reload" model_case_with level=2 scope=model reload 0 "${both[@]}"
    check "level 2: model, abort at once" model_case_with level=2 scope=model abort_at_once 134 "${both[@]}"
    check "level 2: a model on two streams" streams_case
    check "checks: compiled functions on two streams" compiled_streams_case
    check "statistics" statistics_case
    check "statistics between kernels that overlap" overlap_case
    check "statistics: memcheck" statistics_case memcheck
    check "statistics: racecheck" statistics_case racecheck
    # What the victim measures is written as a whole before.
    check "statistics: initcheck" statistics_case initcheck
}
