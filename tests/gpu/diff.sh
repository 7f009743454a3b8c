# What step diff of scripts/gpu-check does: aoti-dbg diff on runs of diff_victim.py. Sourced by cases.sh.
# shellcheck shell=bash disable=SC2154

# differences NAME STATUS RUNS OPTION...: the command's output, with the expected exit code.
differences() {
    local name=$1 status=$2 runs=$3 found=0
    shift 3
    "$build/aoti-dbg" diff "$diff_recorded" --runs "$runs" "$@" >"$case_folder/$name" 2>&1 || found=$?
    cat "$case_folder/$name"
    ((found == status)) || {
        echo "expected exit code $status, got $found"
        return 1
    }
}
diff_recorded=$out/run/diff-recorded

diff_record_case() {
    need_gpu || return
    rm -rf "$diff_recorded"
    run_in recorded 280 "$build/aoti-dbg" run --record full --out "$diff_recorded" -- \
        "$python" -W ignore "$root/tests/gpu/diff_victim.py" "$case_folder/layers.pt2"
    good recorded && [[ $(grep -c '"side":"inputs"' "$diff_recorded/events.jsonl") -ge 6 ]]
}

# Rounding is no difference between builds. Bit by bit, the first product is one.
diff_twins_case() {
    need_gpu && need "$diff_recorded/events.jsonl" && differences close 0 0,1 && differences bits 1 0,1 --tolerance bits &&
        grep -Eq '^first divergence: run 0, call [0-9]+ |^outputs differ in 1 run$' "$case_folder/bits"
}

diff_constant_case() {
    need_gpu && need "$diff_recorded/events.jsonl" && differences text 1 2,3 &&
        grep -q '^first divergence: .* weight 4\.weight differs$' "$case_folder/text" &&
        grep -q '1 of 4,096 elements differs, max |Δ| 0\.25' "$case_folder/text"
}

# The op's result is recorded by then. The next kernel is the first that could read it too early.
diff_race_case() {
    need_gpu && need "$diff_recorded/events.jsonl" && differences text 1 4,5 &&
        grep -q '^first divergence: .*aoti_dbg_victim' "$case_folder/text"
}

diff_cases() {
    check "diff: record" diff_record_case
    check "diff: Triton's products against cuBLAS's" diff_twins_case
    check "diff: a constant updated with one other weight" diff_constant_case
    check "diff: a race, by its runs" diff_race_case
}
