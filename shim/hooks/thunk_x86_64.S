// The stubs and the thunk, System V x86-64. A stub pushes its slot number. The thunk runs between the caller and the
// real function without knowing the signature, and uses the frame in stub_frame.hpp (change both together). It must
// leave no trace: it restores every argument and result register, keeps the stack aligned, and lets debuggers and
// exceptions unwind (CFI below).

// The thunk saves all argument registers and calls aoti_dbg_before(). That returns the target and the number of stack
// argument words to repeat. The thunk then calls the real function and aoti_dbg_after().
//
// Calls that the thread does not inspect (t_unwatched_roles in slots.hpp) jump to the real function at once. Most of a
// model's calls into libtorch are such calls.

#define FRAME_BYTES   248      /* 8 mod 16: keeps the stack aligned after the slot and rbp are pushed */
#define VECTORS       0        /* xmm0..xmm7, 16 bytes each */
#define INTEGERS      128      /* rdi rsi rdx rcx r8 r9 */
#define VECTOR_COUNT  176      /* rax: al is the number of vector registers in a variadic call */
#define STATIC_CHAIN  184      /* r10 */
#define RESULTS       192      /* rax rdx */
#define VECTOR_RESULTS 208     /* xmm0 xmm1 */

// The mangled names of aoti_dbg::g_slots and t_unwatched_roles, and offsets in a slot of slots.hpp.
#define SLOTS         _ZN8aoti_dbg7g_slotsE
#define UNWATCHED     _ZN8aoti_dbg17t_unwatched_rolesE
#define SLOT_SHIFT    6        /* 64 bytes */
#define SLOT_REAL     0
#define SLOT_ROLE_BIT 44

    .text
    .hidden aoti_dbg_before
    .hidden aoti_dbg_after
    .hidden SLOTS
    .hidden UNWATCHED

// ---- the stubs: 16 bytes each ----
// Each block of stubs has its own unwind table. A debugger that stops in a stub walks the table from the start of its
// block.
    .p2align 4
    .globl aoti_dbg_stubs
    .hidden aoti_dbg_stubs
    .type aoti_dbg_stubs, @function
aoti_dbg_stubs:
    .set slot, 0
    .rept 64
    .cfi_startproc
    .rept 256
    .p2align 4
    .cfi_def_cfa_offset 8
    endbr64
    pushq $slot
    .cfi_def_cfa_offset 16
    jmp aoti_dbg_thunk
    .set slot, slot + 1
    .endr
    .cfi_endproc
    .endr
    .size aoti_dbg_stubs, . - aoti_dbg_stubs

    .macro keep_arguments
    movaps %xmm0, VECTORS+0(%rsp)
    movaps %xmm1, VECTORS+16(%rsp)
    movaps %xmm2, VECTORS+32(%rsp)
    movaps %xmm3, VECTORS+48(%rsp)
    movaps %xmm4, VECTORS+64(%rsp)
    movaps %xmm5, VECTORS+80(%rsp)
    movaps %xmm6, VECTORS+96(%rsp)
    movaps %xmm7, VECTORS+112(%rsp)
    movq %rdi, INTEGERS+0(%rsp)
    movq %rsi, INTEGERS+8(%rsp)
    movq %rdx, INTEGERS+16(%rsp)
    movq %rcx, INTEGERS+24(%rsp)
    movq %r8, INTEGERS+32(%rsp)
    movq %r9, INTEGERS+40(%rsp)
    movq %rax, VECTOR_COUNT(%rsp)
    movq %r10, STATIC_CHAIN(%rsp)
    .endm

// Uses rbp, because rsp may have moved to make room for stack arguments.
    .macro restore_arguments
    movaps VECTORS+0-FRAME_BYTES(%rbp), %xmm0
    movaps VECTORS+16-FRAME_BYTES(%rbp), %xmm1
    movaps VECTORS+32-FRAME_BYTES(%rbp), %xmm2
    movaps VECTORS+48-FRAME_BYTES(%rbp), %xmm3
    movaps VECTORS+64-FRAME_BYTES(%rbp), %xmm4
    movaps VECTORS+80-FRAME_BYTES(%rbp), %xmm5
    movaps VECTORS+96-FRAME_BYTES(%rbp), %xmm6
    movaps VECTORS+112-FRAME_BYTES(%rbp), %xmm7
    movq INTEGERS+0-FRAME_BYTES(%rbp), %rdi
    movq INTEGERS+8-FRAME_BYTES(%rbp), %rsi
    movq INTEGERS+16-FRAME_BYTES(%rbp), %rdx
    movq INTEGERS+24-FRAME_BYTES(%rbp), %rcx
    movq INTEGERS+32-FRAME_BYTES(%rbp), %r8
    movq INTEGERS+40-FRAME_BYTES(%rbp), %r9
    movq VECTOR_COUNT-FRAME_BYTES(%rbp), %rax
    movq STATIC_CHAIN-FRAME_BYTES(%rbp), %r10
    .endm

    .p2align 4
    .type aoti_dbg_thunk, @function
aoti_dbg_thunk:
    .cfi_startproc
    .cfi_def_cfa_offset 16              // the slot number is below the return address
    pushq %rax
    .cfi_def_cfa_offset 24
    movq 8(%rsp), %rax
    shlq $SLOT_SHIFT, %rax
    leaq SLOTS(%rip), %r11
    addq %r11, %rax
    movq UNWATCHED@gottpoff(%rip), %r11
    movl %fs:(%r11), %r11d
    testl %r11d, SLOT_ROLE_BIT(%rax)
    jnz .Lunwatched
    popq %rax
    .cfi_def_cfa_offset 16
    pushq %rbp
    .cfi_def_cfa_offset 24
    .cfi_offset %rbp, -24
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $FRAME_BYTES, %rsp
    keep_arguments

    movq 8(%rbp), %rdi
    movq %rsp, %rsi
    call aoti_dbg_before                // rax: the real function, rdx: words of stack arguments, or -1
    movq %rax, %r11
    testq %rdx, %rdx
    js .Lpass_through
    jz .Lcall

    // Make room for the words, rounded up to keep the alignment. Copy from the highest address down, so that the
    // stack's guard page is touched in order.
    leaq 1(%rdx), %rax
    andq $-2, %rax
    shlq $3, %rax
    subq %rax, %rsp
.Lcopy:
    movq 16(%rbp,%rdx,8), %rax          // the first stack argument is at 24(%rbp)
    movq %rax, -8(%rsp,%rdx,8)
    decq %rdx
    jnz .Lcopy

.Lcall:
    restore_arguments
    call *%r11
    leaq -FRAME_BYTES(%rbp), %rsp
    movq %rax, RESULTS(%rsp)
    movq %rdx, RESULTS+8(%rsp)
    movaps %xmm0, VECTOR_RESULTS(%rsp)
    movaps %xmm1, VECTOR_RESULTS+16(%rsp)
    movq 8(%rbp), %rdi
    movq %rsp, %rsi
    call aoti_dbg_after
    movq RESULTS(%rsp), %rax
    movq RESULTS+8(%rsp), %rdx
    movaps VECTOR_RESULTS(%rsp), %xmm0
    movaps VECTOR_RESULTS+16(%rsp), %xmm1
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 16
    addq $8, %rsp
    .cfi_def_cfa_offset 8
    ret

.Lpass_through:
    .cfi_restore_state
    restore_arguments
    leave
    .cfi_def_cfa %rsp, 16
    leaq 8(%rsp), %rsp
    .cfi_def_cfa_offset 8
    jmp *%r11

.Lunwatched:
    .cfi_def_cfa %rsp, 24
    .cfi_restore %rbp
    movq SLOT_REAL(%rax), %r11
    popq %rax
    .cfi_def_cfa_offset 16
    leaq 8(%rsp), %rsp
    .cfi_def_cfa_offset 8
    jmp *%r11
    .cfi_endproc
    .size aoti_dbg_thunk, . - aoti_dbg_thunk

    .section .note.GNU-stack,"",@progbits
