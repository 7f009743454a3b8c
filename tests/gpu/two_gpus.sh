# What step two-gpus of scripts/gpu-check does: faults where a process, or two of one program, use two GPUs that run the
# same kernels. Sourced by cases.sh, by whose rules cases go; the cases are those of triage.sh on two.
# shellcheck shell=bash disable=SC2154,SC2034

# By torchrun, a rank on each: the report is about the last, although the other sees the fault first, or is ended meanwhile.
ranks_case() {
    local package=$packages/fault_index_read-released.pt2 mode
    need_gpu && need "$package" || return
    local command=("$python" -W ignore -m torch.distributed.run --standalone --nproc-per-node 2
        "$root/tests/gpu/rank_victim.py" "$package" "$packages/fault_index_read.inputs.pt")
    bare 150 "${command[@]}"
    armed ci 150 --ci -- "${command[@]}"
    for mode in bare ci; do
        sort -o "$case_folder/$mode/stdout" "$case_folder/$mode/stdout"
    done
    diff "$case_folder"/{bare,ci}/stdout && diff "$case_folder"/{bare,ci}/status &&
        [[ $(<"$case_folder/ci/status") == 1 && $(wc -l <"$case_folder/ci/stdout") == 4 ]] || return
    verdict "$case_folder/ci/out/report.json" class=kernel kernel='triton_*index*' rank=1 device=1 suspect=arg0_1 source=yes &&
        said ci
}

two_gpus_cases() {
    local at
    for at in 60 61; do
        check "two GPUs: fault on number $((at % 2))" on_two fault_case load "$at" exact 3x2 gpus=2 device=$((at % 2))
    done
    check "two GPUs: fault behind copies within each" on_two copies_case step_6 3x2 gpus=2 device=1
    check "two GPUs: fault forty times" on_two repeated_case 40 2
    check "two GPUs: model on the second" on_two seeded_case second_gpu fault_index_read class=kernel \
        kernel='triton_*index*' gpus=2 device=1 call=2 suspect=arg0_1 source=yes
    check "two GPUs: a model on each, one faults" on_two seeded_case both_gpus fault_index_read class=kernel \
        kernel='triton_*index*' gpus=2 device=1 call=2 suspect=arg0_1 source=yes
    check "two GPUs: input on the other" on_two seeded_case other_gpu fault_rows class=kernel kernel='triton_*' \
        gpus=2 device=0 run=1 call=0 suspect=arg1_1
    check "two GPUs: copies from one to the other" on_two seeded_case across fault_index_read class=kernel \
        kernel='triton_*index*' gpus=2 device=0 run=40 call=2 certainty=exact suspect=arg0_1
    check "two GPUs: a kernel where the thread is not" on_two seeded_case elsewhere fault_rows class=kernel kernel=seeded_scatter \
        gpus=2 device=1 certainty=exact -- --scope all
    check "two GPUs: hang on the second" on_two hang_case second_gpu \
        'hang: * has not returned for *; wait_kernel_0 (run *, call 1) is running on the device, at line * of its source*' gpus=2 device=1
    check "two GPUs: a rank of torchrun" on_two ranks_case
}
