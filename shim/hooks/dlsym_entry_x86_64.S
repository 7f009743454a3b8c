// The exported dlsym. The real dlsym uses its return address to identify the caller (RTLD_NEXT, RTLD_DEFAULT). Other
// lookups must therefore reach it by a jump in every build type, which needs assembly. It must not use thread-local
// storage or call into libc, because programs look up symbols before anything is initialized.

    .text
    .hidden aoti_dbg_route_dlsym
    .p2align 4
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call aoti_dbg_route_dlsym           // (handle, name) -> jump target
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size dlsym, . - dlsym

    .section .note.GNU-stack,"",@progbits
