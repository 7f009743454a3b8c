// The texts of reading.py, assertions.py and door.py as bytes of the library, followed by a zero.
    .section .rodata
    .globl aoti_dbg_python_door
    .hidden aoti_dbg_python_door
    .type aoti_dbg_python_door, %object
aoti_dbg_python_door:
    .incbin "reading.py"
    .incbin "assertions.py"
    .incbin "door.py"
    .byte 0
    .size aoti_dbg_python_door, . - aoti_dbg_python_door
    .section .note.GNU-stack, "", %progbits
