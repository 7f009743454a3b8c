// The exported hooks of calls that launch kernels and graphs, System V x86-64. While nothing needs the launch, a hook
// jumps to the real function. Otherwise it jumps to the function in launch_hooks.cpp that records the launch. Both
// get the caller's own frame and arguments. A compiler would load and store the arguments on the stack for that.
//
// To add a hook, add a line at the end of this file, and define aoti_dbg_record_<name> in launch_hooks.cpp.

// The mangled names of the variables of aoti_dbg that are read here.
#define HOOKS         _ZN8aoti_dbg14g_driver_hooksE
#define OBSERVING     _ZN8aoti_dbg11g_observingE
#define OBSERVERS     _ZN8aoti_dbg18g_driver_observersE
#define UNWATCHED     _ZN8aoti_dbg17t_unwatched_rolesE
#define HOOK_BYTES    32       /* of driver_table.hpp */
#define HOOK_REAL     16
#define TASKS         8        /* of driver_observer.hpp, behind the number of observers */

    .hidden HOOKS
    .hidden OBSERVING
    .hidden OBSERVERS
    .hidden UNWATCHED

// The number of each hook in hooks.def.
    .set number, 0
#define AOTI_DBG_HOOK(name, what) .set number_of_##name, number; .set number, number + 1;
#include "shim/runtime/hooks.def"
#undef AOTI_DBG_HOOK

    .macro launch_hook name
    .hidden aoti_dbg_record_\name
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    movq HOOKS+HOOK_BYTES*number_of_\name+HOOK_REAL(%rip), %rax
    cmpb $0, OBSERVING(%rip)
    je 1f
    movq UNWATCHED@gottpoff(%rip), %r11
    testb $1, %fs:(%r11)                // the bit of SlotRole::call: in_skipped_run()
    jz aoti_dbg_record_\name
    cmpq $0, OBSERVERS(%rip)
    je 1f
    movq OBSERVERS+TASKS(%rip), %r11    // is_every_driver_call_observed()
    testq %r11, %r11
    jz aoti_dbg_record_\name
    cmpl $0, (%r11)
    jne aoti_dbg_record_\name
1:  testq %rax, %rax
    jz aoti_dbg_record_\name            // finds the driver first
    jmp *%rax
    .cfi_endproc
    .size \name, . - \name
    .endm

    .text
    launch_hook cuLaunchKernel
    launch_hook cuLaunchKernel_ptsz
    launch_hook cuLaunchKernelEx
    launch_hook cuLaunchKernelEx_ptsz
    launch_hook cuLaunchCooperativeKernel
    launch_hook cuLaunchCooperativeKernel_ptsz
    launch_hook cuGraphLaunch
    launch_hook cuGraphLaunch_ptsz

    .section .note.GNU-stack,"",@progbits
