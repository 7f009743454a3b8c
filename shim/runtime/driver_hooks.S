// The table g_driver_hooks of driver_table.hpp: for each line of hooks.def the name, the hook, and two words that are
// found later. C++ would need a declaration of each hook, with a type of cuda.h that older toolkits lack.

// The mangled name of aoti_dbg::g_driver_hooks.
#define TABLE _ZN8aoti_dbg14g_driver_hooksE

    .section .rodata, "a", @progbits
#define AOTI_DBG_HOOK(name, what) .Lname_##name: .asciz #name;
#include "shim/runtime/hooks.def"
#undef AOTI_DBG_HOOK

    .data
    .p2align 5
    .globl TABLE
    .hidden TABLE
    .type TABLE, @object
TABLE:
#define AOTI_DBG_HOOK(name, what) .quad .Lname_##name, name, 0, 0;
#include "shim/runtime/hooks.def"
#undef AOTI_DBG_HOOK
    .size TABLE, . - TABLE

    .section .note.GNU-stack,"",@progbits
