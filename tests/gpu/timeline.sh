# What step timeline of scripts/gpu-check does: the times of kernels from CUPTI and from markers, against
# torch.profiler's, and that both profilers give way to each other. Sourced by cases.sh, by whose rules cases go.
# shellcheck shell=bash disable=SC2154,SC2034

# timed MODE: the victim under the library. Its files are in folder_of MODE, because cases run at once.
folder_of() { echo "$out/run/timeline-$1"; }
timed() {
    local folder
    folder=$(folder_of "$1")
    rm -rf "$folder" && mkdir -p "$folder" || return
    limited 200 env LD_PRELOAD="$library" AOTI_DBG_TIMELINE=1 AOTI_DBG_RING=65536 AOTI_DBG_OUT="$folder/out" \
        "$python" -W ignore "$root/tests/gpu/timeline_victim.py" "$1" "$folder/times.json" 2>&1 | tee "$folder/printed"
    return "${PIPESTATUS[0]}"
}
timeline_of() { find "$(folder_of "$1")/out" -name timeline.jsonl | head -n 1; }
printed() { grep "${@:2}" "$(folder_of "$1")/printed"; }
# profiler_saw MODE COUNT: torch.profiler got at least as many events.
profiler_saw() {
    "$python" -c 'import json, sys; events = json.load(open(sys.argv[1])); sys.exit(sum(map(len, events.values())) < int(sys.argv[2]))' \
        "$(folder_of "$1")/times.json" "$2"
}

timeline_spans_case() {
    need_gpu || return
    limited 250 "$python" -W ignore "$root/tests/gpu/timeline_victim.py" reference "$case_folder/reference.json" && timed spans &&
        printed spans -q "the graph's result is finite: True" || return
    "$build/aoti-dbg" show --all "$(dirname "$(timeline_of spans)")/flight.ring" >"$case_folder/ring.txt" &&
        "$python" "$root/tests/gpu/timeline.py" "$(timeline_of spans)" "$case_folder/ring.txt" "$case_folder/reference.json"
}

timeline_later_case() {
    need_gpu && timed later || return
    [[ $(printed later -c 'starts to use CUPTI. The timeline ends here') == 1 ]] && profiler_saw later 400 &&
        ! printed later 'unknown buffer\|CUPTI_ERROR' && tail -n 1 "$(timeline_of later)" | grep '"lost":0'
}

# Markers measure the times, because torch.profiler has CUPTI.
timeline_first_case() {
    need_gpu && timed first || return
    [[ $(printed first -c 'markers after the launches measure the timeline, because another profiler, such as torch.profiler') == 1 ]] &&
        head -n 1 "$(timeline_of first)" | grep -q '"source":"markers"' && tail -n 1 "$(timeline_of first)" | grep '"lost":0' &&
        profiler_saw first 1
}

timeline_markers_case() {
    local folder
    folder=$(folder_of markers)
    need_gpu && timed markers && printed markers -q "the graph's result is finite: True" &&
        head -n 1 "$(timeline_of markers)" | grep '"source":"markers"' || return
    "$build/aoti-dbg" show --all "$(dirname "$(timeline_of markers)")/flight.ring" >"$folder/ring.txt" &&
        "$python" "$root/tests/gpu/timeline.py" "$(timeline_of markers)" "$folder/ring.txt" "$folder/times.json"
}

timeline_fork_case() {
    need_gpu && timed fork && printed fork -q "the child's status: 0" && tail -n 1 "$(timeline_of fork)" | grep '"lost":0'
}

# What had ended 0.25 s before the fault is in the file.
timeline_fault_case() {
    need_gpu && timed fault && printed fault -q '^fault: ' && [[ $(grep -c '"kernel":"triton' "$(timeline_of fault)") -ge 6 ]]
}

timeline_cases() {
    local one
    check "timeline: spans against torch.profiler" timeline_spans_case
    check "timeline: markers against torch.profiler" timeline_markers_case
    for one in later first fork fault; do begin "timeline: $one" "timeline_${one}_case"; done
    check_begun
}
