// The fatbin of statistics.cu as bytes of the library: nothing of them is there twice, and no C array of megabytes
// has to be compiled. Empty where there was no nvcc.
    .section .rodata
    .balign 16
    .globl aoti_dbg_stats_fatbin
    .hidden aoti_dbg_stats_fatbin
    .type aoti_dbg_stats_fatbin, %object
aoti_dbg_stats_fatbin:
#ifdef AOTI_DBG_FATBIN
    .incbin AOTI_DBG_FATBIN
#endif
    .globl aoti_dbg_stats_fatbin_end
    .hidden aoti_dbg_stats_fatbin_end
aoti_dbg_stats_fatbin_end:
    .size aoti_dbg_stats_fatbin, . - aoti_dbg_stats_fatbin
    .byte 0
    .section .note.GNU-stack, "", %progbits
