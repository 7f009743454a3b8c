# What step compiled of scripts/gpu-check does: functions of torch.compile, bare and under the library. Sourced by
# cases.sh, by whose rules cases go.
# shellcheck shell=bash disable=SC2154,SC2034

# Both find their functions in Inductor's cache if they ran before. Bare comes first, so that both choose the same kernels.
compiled_alike() {
    local level=2
    bare 280 "$python" -W ignore "$@"
    seen 200 "$python" -W ignore "$@"
    good bare && good seen && diff "$case_folder"/{bare,seen}/stdout && was_seen
}

# compiled_programs_case PRODUCT: the name of a product.
compiled_programs_case() {
    need_gpu && compiled_alike "$root/tests/models/compiled_victim.py" cuda || return
    grep -q "^\[ *before_launch - $1 - " "$case_folder/log" &&
        grep -q '^\[ *after_launch - triton_.* - buf' "$case_folder/log" &&
        echo "note: $(wc -l <"$case_folder/bare/stdout") results alike"
}

compiled_cpp_wrappers_case() {
    local -x TORCHINDUCTOR_CPP_WRAPPER=1
    compiled_programs_case aoti_torch_cuda_addmm_out
}

# With CUDA graphs, what a replay launches is not seen, and a message says so.
compiled_modes_case() {
    need_gpu && compiled_alike "$root/tests/gpu/compiled_victim.py" modes || return
    grep -q 'is being captured into a CUDA graph' "$case_folder/seen/stderr" && grep -q 'after_launch - extern_kernels\.' "$case_folder/log" &&
        grep -q 'after_launch - triton_.*norm' "$case_folder/log"
}

# compiled_kernels_case WRAPPER: the tuned kernel, too, is measured only as the wrapper launches it.
compiled_kernels_case() {
    local -x TORCHINDUCTOR_CPP_WRAPPER=$1
    need_gpu && compiled_alike "$root/tests/gpu/compiled_victim.py" kernels || return
    [[ $(grep -c '^\[ *before_launch - scale_rows_[0-9]* - factors\|^\[ *before_launch - scale_rows_[0-9]* - arg1_1' "$case_folder/log") == 2 ]] &&
        [[ $(grep -c '^\[ *after_launch - scale_rows_[0-9]* - buf' "$case_folder/log") -ge 2 ]] &&
        [[ $(grep -c '^\[ *after_launch - square_[0-9]* - buf' "$case_folder/log") -ge 1 ]]
}

compiled_raises_case() {
    local -x TORCHINDUCTOR_CPP_WRAPPER=$1
    need_gpu && compiled_alike "$root/tests/gpu/compiled_victim.py" raises || return
    [[ $(grep -c 'Error ' "$case_folder/bare/stdout") == 2 ]]
}

compiled_nan_case() {
    need_gpu || return
    run_in nan 200 env LD_PRELOAD="$library" AOTI_DBG_CHECK=nan AOTI_DBG_LOG="$case_folder/nan/log" \
        AOTI_DBG_OUT="$case_folder/nan/out" "$python" -W ignore "$root/tests/models/compiled_victim.py" cuda nan
    cat "$case_folder/nan/log"
    good nan && grep -q '^\[ finding 1: NaN in buf0, first made by triton_poi_fused_log_mul_0 \]$' "$case_folder/nan/log"
}

compiled_fault_case() {
    need_gpu || return
    armed armed 200 -- "$python" -W ignore "$root/tests/gpu/compiled_victim.py" fault
    verdict "$case_folder/armed/out/report.json" class=kernel kernel='triton_poi_fused_*' run=0 call=0 suspect=arg0_1 \
        source=yes verdict='illegal memory access in triton_poi_fused_* (run 0, call 0): *a read from arg0_1, at line *'
}

compiled_cases() {
    check "torch.compile: programs" compiled_programs_case extern_kernels.addmm
    check "torch.compile: C++ wrappers" compiled_cpp_wrappers_case
    check "torch.compile: the author's Triton kernels" compiled_kernels_case 0
    check "torch.compile: the author's Triton kernels, C++ wrappers" compiled_kernels_case 1
    check "torch.compile: an op that raises" compiled_raises_case 0
    check "torch.compile: an op that raises, C++ wrappers" compiled_raises_case 1
    check "torch.compile: modes" compiled_modes_case
    check "torch.compile: NaN" compiled_nan_case
    check "torch.compile: illegal memory access" compiled_fault_case
}
