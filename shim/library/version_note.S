// The version of this library as an ELF note, which strip keeps. The command reads it from the file, so that it need
// not load the library to detect a library from another release (triage/gather/installation.cpp).
    .section .note.aoti_dbg, "a", %note
    .balign 4
    .long .Lowner_end - .Lowner
    .long .Lversion_end - .Lversion
    .long 1
.Lowner:
    .asciz "aoti-dbg"
.Lowner_end:
    .balign 4
.Lversion:
    .asciz AOTI_DBG_VERSION
.Lversion_end:
    .balign 4
    .section .note.GNU-stack, "", %progbits
