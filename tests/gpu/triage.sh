# What step triage of scripts/gpu-check does: programs and models with seeded faults, bare and armed. Sourced by cases.sh,
# by whose rules cases go. The judge is verdict.py, which reads report.json.
# shellcheck shell=bash disable=SC2154,SC2034

# Models of tests/models/faults.py.
faulty=(fault_index_read fault_index_write fault_index_assert fault_user_kernel fault_hang fault_custom_op fault_rows)

# armed FOLDER SECONDS FLAG... -- COMMAND...: by `aoti-dbg run --triage`, its output in FOLDER/out.
armed() {
    local folder=$1 seconds=$2
    shift 2
    rm -rf "${case_folder:?}/$folder/out"
    run_in "$folder" "$seconds" "$build/aoti-dbg" run --triage --out "$case_folder/$folder/out" "$@"
}
verdict() { python3 "$root/tests/gpu/verdict.py" "$@"; }

# fault_case KIND LAUNCH exact|kernel [STREAMS [EXPECTED...]]: the report names the kernel that the program says is at fault, at
# a line of its source, and that very launch where a thread of it was still there when the driver looked.
fault_case() {
    local kind=$1 launch=$2 certainty=$3 streams=${4:-3} victim=$programs/fault_victim kernel mode
    need_gpu && need "$victim" || return
    bare 60 "$victim" "$kind" 100 "$launch" "$streams"
    kernel=$(sed -n 's/^kernel \([a-z_0-9]*\) .*/\1/p' "$case_folder/bare/stdout")
    for mode in continue raise abort; do
        armed "$mode" 60 --scope all --on-fault "$mode" -- "$victim" "$kind" 100 "$launch" "$streams"
        verdict "$case_folder/$mode/out/report.json" class=kernel kernel="$kernel" file=fault_victim.cu \
            launch="$launch/100" certainty="$certainty" "${@:5}" || return
        [[ ! -e $case_folder/$mode/out/gpu.core ]] || { echo "$mode: the dump was left" && return 1; }
    done
    # The program got to see that something failed, and not less than bare; an armed driver itself says "launch failure"
    # where it says "assertion" otherwise.
    [[ $(<"$case_folder/bare/status") == 3 && $(<"$case_folder/abort/status") == 134 ]] || return
    local status
    for mode in continue raise; do
        status=$(<"$case_folder/$mode/status")
        # The driver's own debugger often crashes at the exit after a trap or a stack that was full, with and without the library: step
        # tools counts how often without the library.
        # It may be done before the driver begins to see the fault; the report, which was checked, is there all the same.
        if [[ $certainty == kernel && $status == 0 ]]; then
            echo "note: with $mode it had ended before the driver reported the fault"
            continue
        fi
        [[ $status == 3 || ($kind =~ ^(stack|trap)$ && $status == 139) ]] || { echo "$mode: ended with $status" && return 1; }
        ! grep -q cudaSuccess "$case_folder/$mode/stdout" || { echo "$mode: $(<"$case_folder/$mode/stdout")" && return 1; }
    done
}

# A program that asks the device nothing after the fault, and ends at once.
unasked_case() {
    local victim=$programs/fault_victim mode
    need_gpu && need "$victim" || return
    for mode in continue abort; do
        armed "$mode" 60 --scope all --on-fault "$mode" --error-exitcode 41 -- "$victim" load 100 60 3 exit
        verdict "$case_folder/$mode/out/report.json" class=kernel kernel=step_4 certainty=exact launch=60/100 || return
    done
    [[ $(<"$case_folder/continue/status") == 41 && $(<"$case_folder/abort/status") == 134 ]]
}

# A kernel that never ends: with raise the program's wait comes back with an error, and the report has the kernel and the line
# at which it goes round.
stuck_case() {
    local victim=$programs/fault_victim
    need_gpu && need "$victim" || return
    armed raise 60 --scope all --hang 2 --on-hang raise -- "$victim" hang 100 61 3
    verdict "$case_folder/raise/out/report.json" class=hang kernel=step_5 file=fault_victim.cu launch=61/100 certainty=exact \
        verdict='hang: cu*has not returned for*; step_5 is running on the device, at line * of fault_victim.cu*' || return
    [[ $(<"$case_folder/raise/status") == 3 ]] && grep -q 'stream 1: cudaErrorLaunchFailure' "$case_folder/raise/stdout" &&
        [[ ! -e $case_folder/raise/out/gpu.core ]] && said raise
}

# copies_case KERNEL [STREAMS [EXPECTED...]]: the driver counts copies among the launches, and so must we.
copies_case() {
    local kernel=$1 streams=${2:-3} victim=$programs/fault_victim
    need_gpu && need "$victim" || return
    armed raise 60 --scope all -- "$victim" behind 100 61 "$streams"
    verdict "$case_folder/raise/out/report.json" class=kernel kernel="$kernel" certainty=exact "${@:3}" &&
        [[ $(<"$case_folder/raise/status") == 3 ]] && said raise
}

# While the device is full the driver takes six seconds for its dump, and the program is done long before.
crowded_case() {
    local victim=$programs/fault_victim
    need_gpu && need "$victim" || return
    armed continue 60 --scope all -- "$victim" crowd 100 61 1 exit
    verdict "$case_folder/continue/out/report.json" class=kernel kernel=step_5 file=fault_victim.cu launch=61/100 certainty=exact &&
        [[ $(<"$case_folder/continue/status") == 0 ]] && said continue
}

# The driver takes no name as long as this for its dump: then completion markers show the launch.
markers_case() {
    local victim=$programs/fault_victim far deep
    need_gpu && need "$victim" || return
    printf -v deep '%0.s12345678' {1..25}
    far=$case_folder/markers/out/$deep/$deep/$deep/$deep/$deep
    local kind
    for kind in load misaligned store; do
        rm -rf "${case_folder:?}/markers/out"
        run_in markers 60 "$build/aoti-dbg" run --triage --scope all --completion markers --out "$far" -- "$victim" "$kind" 100 61 1
        [[ $(<"$case_folder/markers/status") == 3 ]] &&
            verdict "$far/report.json" class=kernel kernel=step_5 verdict='*step_5*according to completion markers*' || return
    done
    echo "note: $(sed -n 's/^ *"verdict": "\(.*\)",$/\1/p' "$far/report.json")"
}

# repeated_case COUNT [GPUS]: at random launches, several programs at once. Of one in some hundreds the driver does not
# notice the fault, and the program hangs, with this library or without: then the driver is asked.
repeated_case() {
    local count=$1 gpus=${2:-1} victim=$programs/fault_victim i wrong=0
    need_gpu && need "$victim" || return
    for ((i = 0; i < count; ++i)); do
        await_room 6
        repeat_once "$i" "$(((i * 7919 + 13) % 1000))" &
    done
    wait
    for ((i = 0; i < count; ++i)); do
        [[ -e $case_folder/right-$i ]] || wrong=$((wrong + 1))
    done
    cat "$case_folder"/wrong-* 2>/dev/null
    echo "note: $((count - wrong)) of $count named kernel and launch, $(find "$case_folder" -name 'asked-*' | wc -l) after a hang"
    ((wrong == 0))
}
# repeat_once NUMBER LAUNCH, of that many `gpus`
repeat_once() {
    local kinds=(load misaligned store assert) kind certainty=exact folder=$case_folder/run-$1
    kind=${kinds[$1 % 4]}
    [[ $kind != store ]] || certainty=kernel
    mkdir -p "$folder"
    limited 60 "$build/aoti-dbg" run --triage --scope all --completion off --hang 5 --on-hang raise --out "$folder/out" -- \
        "$victim" "$kind" 1000 "$2" "3x$gpus" >"$folder/stdout" 2>"$folder/stderr"
    local status=$? named=0
    verdict "$folder/out/report.json" class=kernel kernel="step_$(($2 / gpus % 8))" launch="$2/1000" \
        certainty="$certainty" gpus="$gpus" device="$(($2 % gpus))" >"$folder/verdict" && named=1
    if [[ $status == 3 && $named == 1 ]]; then
        touch "$case_folder/right-$1"
        [[ ! -e $folder/out/hang.json ]] || touch "$case_folder/asked-$1"
        rm -rf "$folder"
    else
        # Whether the report is right although the program ended in another way is for the reader of this file.
        {
            echo "$kind at $2: status $status, $(cat "$folder/verdict")"
            head -n 12 "$folder/out/report.txt"
        } >"$case_folder/wrong-$1" 2>&1
    fi
}

# faulty_model_case MODEL KERNEL_PATTERN RUN CALL SUSPECT
faulty_model_case() {
    local package=$packages/$1-released.pt2
    need_gpu && need "$programs/model_victim" "$package" || return
    bare 100 "$programs/model_victim" failing "$device" "$package" &
    armed continue 100 -- "$programs/model_victim" failing "$device" "$package"
    wait
    diff "$case_folder"/{bare,continue}/stdout || return
    verdict "$case_folder/continue/out/report.json" class=kernel kernel="$2" run="$3" call="$4" suspect="$5" source=yes &&
        echo "note: $(sed -n 's/^ *"verdict": "\(.*\)",$/\1/p' "$case_folder/continue/out/report.json")"
}

# An assertion of many threads: often the driver writes no dump, with this library or without. Then the launch is likely, by its source.
failed_assertion_case() {
    local package=$packages/fault_index_assert-released.pt2 folder=$case_folder/continue
    faulty_model_case fault_index_assert 'triton_*index*' 1 2 none >"$case_folder/exact" && cat "$case_folder/exact" && return
    [[ ! -e $folder/out/gpu.core ]] && diff "$case_folder"/{bare,continue}/stdout &&
        verdict "$folder/out/report.json" class=kernel kernel='triton_*index*' run=1 call=2 \
            verdict='*; likely in triton_*index*, at line * of its source: of 3 launches not known to have finished, only this one has an assertion*' &&
        grep -q '"source": "tl.device_assert(' "$folder/out/report.json" && said continue
}

# said FOLDER: the verdict, for the table.
said() { echo "note: $(sed -n 's/^ *"verdict": "\(.*\)",$/\1/p' "$case_folder/$1/out/report.json")"; }

# seeded_case BUG MODEL EXPECTED... [-- FLAG...]: a bug of the program's (seeded_victim.cpp), which goes on as it does bare. Of a
# fault in a kernel that is so up to the fault: an armed program gets to see it later, so that it ends elsewhere.
seeded_case() {
    local bug=$1 package=$packages/$2-released.pt2 expected=()
    shift 2
    while (($# > 0)) && [[ $1 != -- ]]; do
        expected+=("$1")
        shift
    done
    (($# == 0)) || shift
    need_gpu && need "$programs/seeded_victim" "$package" || return
    bare 100 "$programs/seeded_victim" "$bug" "$package" &
    armed continue 100 "$@" -- "$programs/seeded_victim" "$bug" "$package"
    wait
    if [[ " ${expected[*]} " == *" class=kernel "* ]]; then
        diff <(head -n 1 "$case_folder/bare/stdout") <(head -n 1 "$case_folder/continue/stdout") &&
            [[ $(<"$case_folder/bare/status") =~ ^(3|134)$ && $(<"$case_folder/continue/status") =~ ^(3|134)$ ]] || return
    else
        diff "$case_folder"/{bare,continue}/stdout && diff "$case_folder"/{bare,continue}/status || return
    fi
    verdict "$case_folder/continue/out/report.json" "${expected[@]}" && said continue
}

# A constant that begins in the wrong place faults where the kernel was compiled to load several numbers at once, and otherwise has no
# effect.
misaligned_case() {
    need_gpu && need "$programs/seeded_victim" "$packages/fault_rows-released.pt2" || return
    bare 100 "$programs/seeded_victim" misaligned_constant "$packages/fault_rows-released.pt2"
    if [[ $(<"$case_folder/bare/status") == 0 ]]; then
        seeded_case misaligned_constant fault_rows class=host verdict='*argument table: expected *alignment, got*'
    else
        seeded_case misaligned_constant fault_rows class=kernel kernel='triton_*' run=1 call=0 suspect=table verdict='misaligned address*'
    fi
}

# Where everything waits for what it needs, nothing is reported.
ordered_case() {
    local package=$packages/fault_rows-released.pt2
    need_gpu && need "$programs/seeded_victim" "$package" || return
    bare 100 "$programs/seeded_victim" ordered_copy "$package" &
    armed continue 100 --check args,races -- "$programs/seeded_victim" ordered_copy "$package"
    wait
    diff "$case_folder"/{bare,continue}/stdout && diff "$case_folder"/{bare,continue}/status &&
        [[ $(<"$case_folder/bare/status") == 0 && ! -e $case_folder/continue/out/report.json ]]
}

# hang_case BUG VERDICT [EXPECTED...]: a kernel that never ends; bare, the program is stopped from outside.
hang_case() {
    local bug=$1 text=$2 package=$packages/fault_hang-released.pt2
    need_gpu && need "$programs/seeded_victim" "$package" || return
    armed abort 60 --hang 3 --on-hang abort -- "$programs/seeded_victim" "$bug" "$package"
    [[ $(<"$case_folder/abort/status") == 134 ]] &&
        verdict "$case_folder/abort/out/report.json" class=hang source=yes verdict="$text" "${@:3}" && said abort
}

# twenty_case MODEL KERNEL_PATTERN SUSPECT: a model that faults, again and again, several programs at once.
twenty_case() {
    local package=$packages/$1-released.pt2 i wrong=0
    need_gpu && need "$programs/model_victim" "$package" || return
    for ((i = 0; i < 20; ++i)); do
        await_room 5
        armed "$i" 100 -- "$programs/model_victim" failing "$device" "$package" &
    done
    wait
    for ((i = 0; i < 20; ++i)); do
        verdict "$case_folder/$i/out/report.json" class=kernel kernel="$2" run=1 suspect="$3" source=yes &&
            [[ $(<"$case_folder/$i/status") == $(<"$case_folder/0/status") ]] || wrong=$((wrong + 1))
    done
    echo "note: $((20 - wrong)) of 20 named kernel, line and argument"
    ((wrong == 0))
}

# One of the ways in which Triton tries to run a kernel is bad; there is no model then.
tuning_case() {
    need_gpu || return
    local victim=$root/tests/gpu/tuning_victim.py
    bare 200 "$python" -W ignore "$victim" &
    armed continue 200 -- "$python" -W ignore "$victim"
    wait
    diff "$case_folder"/{bare,continue}/stdout && diff "$case_folder"/{bare,continue}/status &&
        verdict "$case_folder/continue/out/report.json" class=kernel kernel=scale_kernel && said continue
}

# A Python program that dies of the exception.
python_fault_case() {
    local package=$packages/fault_index_read-released.pt2
    need_gpu && need "$package" || return
    local script='
import sys, torch
good, bad = ([tensor.cuda() for tensor in one] for one in torch.load(sys.argv[2]))
model = torch._inductor.aoti_load_package(sys.argv[1])
print(float(model(*good).sum()) != 0, flush=True)
model(*bad).sum().item()
'
    bare 200 "$python" -W ignore -c "$script" "$package" "$packages/fault_index_read.inputs.pt" &
    armed continue 200 -- "$python" -W ignore -c "$script" "$package" "$packages/fault_index_read.inputs.pt"
    wait
    diff "$case_folder"/{bare,continue}/stdout && diff "$case_folder"/{bare,continue}/status &&
        verdict "$case_folder/continue/out/report.json" class=kernel kernel='triton_*index*' run=1 suspect=arg0_1 source=yes
}

# A launch that the driver refuses. A driver of CUDA 12.9 and later may say why; what it says goes into the report, and nowhere else.
refused_case() {
    local victim=$programs/driver_victim folder=$case_folder/continue
    need_gpu && need "$victim" || return
    bare 60 "$victim" refused
    armed continue 60 --scope all -- "$victim" refused
    diff "$case_folder"/{bare,continue}/stdout && diff "$case_folder"/{bare,continue}/status &&
        [[ $(<"$case_folder/bare/status") == 3 ]] && verdict "$folder/out/report.json" class=host verdict='invalid argument*add_to_all*' || return
    if grep -q '"driver_log": ' "$folder/out/report.json"; then
        grep -q '^  driver says ' "$folder/out/report.txt" && [[ -e $folder/out/driver_log.map ]] || return
        echo "note: $(sed -n 's/^  driver says *//p' "$folder/out/report.txt")"
    elif [[ -e $folder/out/driver_log.map ]]; then
        # To be inspected: the driver may have logged something else, or the launch's line too late.
        echo "note: the driver logged only elsewhere: $(tr -c '[:print:]' ' ' <"$folder/out/driver_log.map" | tr -s ' ')"
    else
        echo "note: this driver does not say why"
    fi
}

sound_case() {
    local both=("$packages"/{transformer,mixed}-released.pt2)
    need "$programs/model_victim" "${both[@]}" || return
    bare 120 "$programs/model_victim" threads "$device" "${both[@]}" &
    armed seen 120 --level 0 -- "$programs/model_victim" threads "$device" "${both[@]}"
    wait
    alike 0 && [[ ! -e $case_folder/seen/out/report.json ]]
}

doctor_case() {
    need_gpu || return
    "$build/aoti-dbg" doctor --fault | tee "$case_folder/said"
    [[ ${PIPESTATUS[0]} == 0 ]] && grep -q '^ok *fault' "$case_folder/said" &&
        echo "note: $(grep -m1 '^ok *fault' "$case_folder/said" | tr -s ' ')"
}

triage_cases() {
    local kind
    for kind in null load copy misaligned assert trap stack shared; do
        case $kind in null | copy) check "fault: $kind" fault_case "$kind" 60 kernel ;; *) check "fault: $kind" fault_case "$kind" 61 exact ;; esac
    done
    check "fault: overrun" fault_case overrun 37 kernel
    check "fault: store" fault_case store 99 kernel
    check "fault: graph" fault_case graph 62 kernel
    check "fault: no request" unasked_case
    check "fault: in a crowd" crowded_case
    check "fault: hang" stuck_case
    check "fault: without a dump" markers_case
    check "launch: refused" refused_case
    check "fault: behind copies" copies_case step_5
    check "fault: two hundred times" repeated_case 200
    check "model: index read" faulty_model_case fault_index_read 'triton_*index*' 1 2 arg0_1
    check "model: index write" faulty_model_case fault_index_write 'triton_*index_put*' 1 1 buf0
    check "model: index assert" failed_assertion_case
    check "model: user's kernel" faulty_model_case fault_user_kernel 'put_kernel*' 1 1 buf0
    check "model: Python" python_fault_case
    check "model: twenty times" twenty_case fault_index_read 'triton_*index*' arg0_1
    check "program: custom op" seeded_case bad_input fault_custom_op class=kernel kernel=seeded_scatter inside=seeded::scatter
    check "program: input in freed memory" seeded_case freed fault_rows class=kernel kernel='triton_*' run=1 call=0 \
        suspect=arg1_1 tensor=arg1_1 verdict='*freed*'
    check "program: the same, in memory of PyTorch's" seeded_case emptied fault_rows class=kernel kernel='triton_*' run=1 call=0 \
        suspect=arg1_1 tensor=arg1_1 verdict='*freed*cuMemFree*'
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True check "program: the same, in expandable segments" seeded_case emptied fault_rows \
        class=kernel kernel='triton_*' run=1 call=0 suspect=arg1_1 tensor=arg1_1 verdict='*freed*cuMemUnmap*'
    PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync check "program: the same, in the driver's pool" seeded_case emptied fault_rows \
        class=kernel kernel='triton_*' run=1 call=0 suspect=arg1_1 tensor=arg1_1 verdict='*freed*in stream order*'
    check "program: freed memory below a matrix product" seeded_case freed linear class=kernel inside=addmm
    check "program: input on the host" seeded_case device fault_rows class=kernel kernel='triton_*' run=1 call=0 suspect=arg1_1
    check "program: more rows than exported" seeded_case rows fault_rows class=kernel kernel='triton_*' run=1 call=0 \
        suspect=table verdict='*past the end of table*'
    check "program: dtype" seeded_case dtype fault_rows class=host verdict='model input arg1_1: expected dtype*'
    check "program: misaligned constant" misaligned_case
    check "program: stale constants" seeded_case constants linear class=host verdict='*, got *32*'
    check "program: race with a copy" seeded_case race_of_copy fault_rows class=host verdict='*argument arg*: expected an event or a wait*' -- --check args,races
    check "program: the same, ordered" ordered_case
    check "program: out of memory" seeded_case memory fault_rows class=oom verdict='out of device memory*'
    check "program: replayed graph" seeded_case graph fault_index_read class=kernel kernel='triton_*index*' suspect=arg0_1 source=yes
    check "program: after copies" seeded_case copied fault_index_read class=kernel kernel='triton_*index*' run=40 call=2 \
        certainty=exact suspect=arg0_1
    check "program: hang" hang_case bad_input 'hang: * has not returned for *; wait_kernel_0 (run 1, call 1) is running on the device, at line * of its source*'
    check "program: hang that no call waits for" hang_case unasked \
        'hang: wait_kernel_0 (run 1, call 1) has not finished for *, and no call waits for it; it is running on the device, at line * of its source*'
    check "program: fault while Triton tunes" tuning_case
    check "armed, and nothing faults" sound_case
    check "doctor" doctor_case
}
