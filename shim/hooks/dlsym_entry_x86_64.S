// dlsym, as exported. The real dlsym looks at its return address to know who asks (RTLD_NEXT, RTLD_DEFAULT), so a
// look-up that is not ours must arrive there by a jump, in every build type: hence assembly. It must not touch
// thread-local storage or call into libc: programs look symbols up before anything is initialised.

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
    call aoti_dbg_route_dlsym           // (handle, name) -> where to go on
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
