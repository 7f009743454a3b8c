// The opcodes of Python's pickle format, protocol 2, that torch.save() uses for a tensor. Arguments are
// little-endian, and the texts of globals end in newlines. Lib/pickletools.py of CPython documents all of
// them.
#pragma once

namespace aoti_dbg {

enum class PickleOp : char {
    proto = '\x80',       // a byte: the protocol
    stop = '.',           // the top of the stack is the result
    mark = '(',           // start of a tuple
    global = 'c',         // module, name
    reduce = 'R',         // callable, tuple of arguments -> result of the call
    persistent_id = 'Q',  // id -> the object; here a storage, which is outside of the pickle
    new_object = '\x81',  // class, tuple of arguments -> object
    build = 'b',          // object, state -> object
    none = 'N',
    new_true = '\x88',
    new_false = '\x89',
    int1 = 'K',         // unsigned, 8 bits
    int2 = 'M',         // unsigned, 16 bits
    int4 = 'J',         // signed, 32 bits
    long1 = '\x8a',     // a byte: number of bytes that follow, in two's complement
    float8 = 'G',       // a double, big-endian
    unicode = 'X',      // 32 bits: length; UTF-8
    empty_tuple = ')',  // ()
    tuple = 't',        // all values since the last mark
    tuple1 = '\x85',    // the last one
    tuple2 = '\x86',    // the last two
    tuple3 = '\x87',    // the last three
    empty_dict = '}',   // {}
    set_item = 's',     // dict, key, value -> dict
    set_items = 'u',    // dict, mark, key, value, ... -> dict
    empty_list = ']',   // []
    append = 'a',       // list, value -> list
    appends = 'e',      // list, mark, value, ... -> list
    put1 = 'q',         // a byte: the number under which the top of the stack is remembered
    put4 = 'r',         // 32 bits: as put1
    get1 = 'h',         // a byte: the number of the value to push
    get4 = 'j',         // 32 bits: as get1
};

}  // namespace aoti_dbg
