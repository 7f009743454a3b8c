// The objects that the loader has mapped, and the slots where each keeps the addresses of what it imports.
// Reads the loader's own tables; writes nothing but import slots.
#pragma once

#include <link.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg {

struct LoadedObject {
    std::string path;  // of the file; of the program itself what /proc/self/exe says
    bool is_program = false;
    std::uintptr_t base = 0;  // what addresses in the file are relative to
    std::uintptr_t low = 0;   // the mapped range
    std::uintptr_t high = 0;
    std::uintptr_t relro_low = 0;  // made read-only after relocation
    std::uintptr_t relro_high = 0;
    const ElfW(Dyn) * dynamic = nullptr;

    [[nodiscard]] bool contains(std::uintptr_t address) const { return address >= low && address < high; }
};

/// The object that `address` lies in.
std::optional<LoadedObject> object_at(const void* address);

std::vector<LoadedObject> loaded_objects();

/// One imported function: where its address is kept, and its value in this object's symbol table (0: not
/// defined here). `symbol` lives as long as the object is mapped.
struct ImportSlot {
    const char* symbol;
    void** address;
    std::uintptr_t own_definition;
};

/// Calls `visit` for each function slot (JUMP_SLOT, GLOB_DAT) with a symbol.
void for_each_import(const LoadedObject& object, const std::function<void(const ImportSlot&)>& visit);

/// What the slot leads to: its content, or, if the loader has not bound it yet, what it would bind it to.
/// nullptr when that cannot be found.
void* real_behind(const LoadedObject& object, const ImportSlot& slot);

/// Replaces the slot's content, read-only page or not.
Status write_slot(const LoadedObject& object, const ImportSlot& slot, void* value);

}  // namespace aoti_dbg
