// The fatbins of statistics.cu, save.cu and time.cu as bytes of the library: nothing of them is there twice, and no C array of
// megabytes has to be compiled. Empty where there was no nvcc.
    .macro fatbin name
    .balign 16
    .globl aoti_dbg_\name\()_fatbin
    .hidden aoti_dbg_\name\()_fatbin
    .type aoti_dbg_\name\()_fatbin, %object
aoti_dbg_\name\()_fatbin:
#ifdef AOTI_DBG_FATBINS
    .incbin "\name\().fatbin"
#endif
    .globl aoti_dbg_\name\()_fatbin_end
    .hidden aoti_dbg_\name\()_fatbin_end
aoti_dbg_\name\()_fatbin_end:
    .size aoti_dbg_\name\()_fatbin, . - aoti_dbg_\name\()_fatbin
    .byte 0
    .endm

    .section .rodata
    fatbin statistics
    fatbin save
    fatbin time
    .section .note.GNU-stack, "", %progbits
