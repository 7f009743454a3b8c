# What step replay of scripts/gpu-check does: captured launches run again, alone. Sourced by cases.sh.
# shellcheck shell=bash disable=SC2154

# captured NAME PATTERN COMMAND...: records the launches of these kernels into NAME/out.
captured() {
    local name=$1 pattern=$2
    shift 2
    run_in "$name" 280 "$build/aoti-dbg" run --capture "$pattern" --out "$case_folder/$name/out" -- "$@"
}

# replayed NAME STATUS COMMAND...: what a replay of NAME prints, with its expected exit code.
replayed() {
    local name=$1 status=$2 found=0
    shift 2
    "$@" "$build/aoti-dbg" replay "$case_folder/$name/out" >"$case_folder/$name/replay" 2>&1 || found=$?
    cat "$case_folder/$name/replay"
    ((found == status)) || {
        tail -n 5 "$case_folder/$name/stderr"
        echo "expected exit code $status, got $found"
        return 1
    }
}

# Kernels of the author, of torch.compile and of a package, with Triton's templates among them.
replay_equal_case() {
    need_gpu || return
    captured compiled 'triton_*,scale_rows*,square*' "$python" -W ignore "$root/tests/gpu/compiled_victim.py" kernels &
    captured package 'triton_*' "$python" -W ignore "$root/tests/gpu/diff_victim.py" "$case_folder/layers.pt2" &
    wait
    replayed compiled 0 && replayed package 0 && replayed package 0 compute-sanitizer &&
        ! grep -L ': equal to the record$' "$case_folder"/{compiled,package}/replay | grep . &&
        echo "note: $(cat "$case_folder"/{compiled,package}/replay | grep -c ': equal to the record$') launches equal"
}

replay_fault_case() {
    need_gpu || return
    captured fault 'triton_*' "$python" -W ignore "$root/tests/gpu/compiled_victim.py" fault
    replayed fault 3 && grep -q 'CUDA_ERROR_ILLEGAL_ADDRESS' "$case_folder/fault/replay" &&
        grep -q '^  at ' "$case_folder/fault/replay"
}

# launch_of NAME KERNEL: the record of the kernel's launch.
launch_of() {
    grep -l "\"kernel\":\"$2" "$case_folder/$1"/out/launches/*.json | head -n 1
}

# shows STATUS TEXT ARGUMENTS...: what a replay with these arguments prints.
shows() {
    local status=$1 text=$2 found=0
    shift 2
    "$build/aoti-dbg" replay "$@" >"$case_folder/shown" 2>&1 || found=$?
    cat "$case_folder/shown"
    ((found == status)) && grep -q "$text" "$case_folder/shown" && return
    echo "expected exit code $status and '$text' from: replay $*"
    return 1
}

# Errors that the program does not notice.
replay_silent_case() {
    need_gpu || return
    local past unset race failed=0
    captured silent '*' "$python" -W ignore "$root/tests/gpu/replay_victim.py"
    past=$(launch_of silent pick_rows) unset=$(launch_of silent add_to) race=$(launch_of silent count_blocks)
    # It reads what lies between two tensors, which nothing saves. So the results can differ.
    { shows 0 'equal to the record' "$past" || shows 1 ': different$' "$past"; } >"$case_folder/silent/replay" || failed=1
    shows 3 'read.* past the end of ' --guard "$past" && grep -q '^  at .*[.]py:' "$case_folder/shown" || failed=1
    shows 0 'equal to the record' "$unset" || failed=1
    shows 1 'reads uninitialized memory' --poison ff "$unset" || failed=1
    shows 1 'different outcomes in 50 launches' --times 50 "$race" || failed=1
    shows 0 'equal to the record' "$(launch_of silent copy_tiles)" || failed=1
    shows 0 'equal to the record, with guarded buffers' --guard "$(launch_of silent copy_tiles)" || failed=1
    shows 0 'repeats run' --python "$case_folder/tma.py" "$(launch_of silent copy_tiles)" && "$python" -W ignore "$case_folder/tma.py" || failed=1
    shows 0 ' GB/s' --bench "$unset" || failed=1
    "$build/aoti-dbg" bundle --runs 0 --output "$case_folder/past.aotidbg" "$case_folder/silent/out" || failed=1
    shows 3 'read.* past the end of ' --guard --calls 0 "$case_folder/past.aotidbg" || failed=1
    compute-sanitizer "$build/aoti-dbg" replay --guard "$past" >"$case_folder/shown" 2>&1
    grep -m 1 'Invalid __global__ read' "$case_folder/shown" || failed=1
    return "$failed"
}

# smaller TEXT FILE ARGUMENTS...: writes a smaller launch to FILE, whose replay shows the same problem.
smaller() {
    local text=$1 file=$2
    shift 2
    rm -f "$file"
    shows 0 "$text" --minimize "$file" "$@" && grep -q 'Its replay shows the same problem' "$case_folder/shown"
}

# Launches with errors, with fewer blocks and constants.
replay_minimize_case() {
    need_gpu || return
    local failed=0
    captured smaller 'pick_rows*,add_to*,count_blocks*' "$python" -W ignore "$root/tests/gpu/replay_victim.py"
    smaller 'the kernel failed' "$case_folder/past-small.aotidbg" --guard "$(launch_of smaller pick_rows)" || failed=1
    shows 3 'read.* past the end of ' --guard "$case_folder/past-small.aotidbg" || failed=1
    smaller 'reads uninitialized memory' "$case_folder/unset-small.aotidbg" --poison ff "$(launch_of smaller add_to)" || failed=1
    shows 1 'reads uninitialized memory' --poison ff "$case_folder/unset-small.aotidbg" || failed=1
    smaller 'not the same each time' "$case_folder/race-small.aotidbg" --times 50 "$(launch_of smaller count_blocks)" || failed=1
    return "$failed"
}

# Every kernel of models that no other test knows.
replay_models_case() {
    need_gpu || return
    captured models '*' "$python" -W ignore "$root/tests/gpu/replay_models.py"
    replayed models 0 >"$case_folder/shown" || { grep -v 'an op; \|equal to the record' "$case_folder/shown"; return 1; }
    echo "note: $(grep -c ': equal to the record$' "$case_folder/shown") launches equal, $(grep -c 'an op; ' "$case_folder/shown") ops"
    "$build/aoti-dbg" bundle --output "$case_folder/models.aotidbg" "$case_folder/models/out" && shows 0 'equal' "$case_folder/models.aotidbg" >/dev/null
}

# The library keeps the launch that faults, and those of a run with a finding.
replay_kept_case() {
    need_gpu || return
    run_in kept 280 "$build/aoti-dbg" run --triage --capture-on fault --out "$case_folder/kept/out" -- "$python" -W ignore \
        "$root/tests/gpu/compiled_victim.py" fault
    replayed kept 3 && grep -q '^  at ' "$case_folder/kept/replay" && { grep -q replay "$case_folder/kept/out/report.txt" || { cat "$case_folder/kept/out/report.txt"; return 1; }; }
}

# written NAME: a script for each captured call, in NAME/scripts.
written() {
    local record scripts=$case_folder/$1/scripts
    rm -rf "$scripts" && mkdir "$scripts"
    for record in "$case_folder/$1"/out/launches/run*.json; do
        "$build/aoti-dbg" replay --python "$scripts/$(basename "$record" .json).py" "$record" >/dev/null || return
    done
}

# written_bundled NAME: the same from a bundle, in NAME/bundled.
written_bundled() {
    local record name scripts=$case_folder/$1/bundled
    rm -rf "$scripts" "$case_folder/$1.aotidbg" && mkdir "$scripts"
    "$build/aoti-dbg" bundle --output "$case_folder/$1.aotidbg" "$case_folder/$1/out" >/dev/null || return
    for record in "$case_folder/$1"/out/launches/run*.json; do
        name=$(basename "$record" .json)
        [[ $name =~ ^run0*([0-9]+)-call0*([0-9]+)$ ]] || return
        "$build/aoti-dbg" replay --runs "${BASH_REMATCH[1]}" --calls "${BASH_REMATCH[2]}" \
            --python "$scripts/$name.py" "$case_folder/$1.aotidbg" >/dev/null || return
    done
}

# Ops and kernels of torch.compile and of a package, repeated through PyTorch.
replay_scripts_case() {
    need_gpu || return
    captured compiled 'triton_*,scale_rows*,square*,extern_kernels.*' "$python" -W ignore "$root/tests/gpu/compiled_victim.py" kernels &
    captured package 'triton_*,aoti_torch_*' "$python" -W ignore "$root/tests/gpu/diff_victim.py" "$case_folder/layers.pt2" &
    wait
    written compiled && written package && written_bundled package &&
        "$python" -W ignore "$root/tests/gpu/repeat_scripts.py" "$case_folder"/{compiled,package}/scripts "$case_folder"/package/bundled &&
        grep -l 'kernel.run(' "$case_folder"/package/scripts/*.py && grep -l 'find_op(' "$case_folder"/package/scripts/*.py
}

replay_verify_case() {
    need_gpu || return
    run_in verified 280 "$build/aoti-dbg" run --capture 'triton_*,extern_kernels.*' --capture-verify --out "$case_folder/verified/out" -- \
        "$python" -W ignore "$root/tests/gpu/compiled_victim.py" kernels
    grep -E 'replay of [0-9]+ captured launch(es)?: [0-9]+ equal(, [0-9]+ ops? skipped)?$' "$case_folder/verified/stderr" ||
        { tail -n 5 "$case_folder/verified/stderr"; return 1; }
}

replay_cases() {
    check "replay: what a run captured, when it has ended" replay_verify_case
    check "replay: kernels equal to their records" replay_equal_case
    check "replay: scripts of ops and kernels" replay_scripts_case
    check "replay: an illegal memory access" replay_fault_case
    check "replay: all kernels of six models" replay_models_case
    check "replay: the launch that faults is kept" replay_kept_case
    check "replay: errors that the program does not notice" replay_silent_case
    check "replay: smaller launches with these errors" replay_minimize_case
}
