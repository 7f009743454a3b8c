// The objects that the loader has mapped, and the slots in which each keeps the addresses of its imports. It
// reads the loader's own tables and writes nothing but import slots.
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
    std::string path;  // of the file; for the program itself, the target of /proc/self/exe
    bool is_program = false;
    std::uintptr_t base = 0;  // added to addresses in the file
    std::uintptr_t low = 0;   // start of the mapped range
    std::uintptr_t high = 0;
    std::uintptr_t relro_low = 0;  // start of the range that is read-only after relocation
    std::uintptr_t relro_high = 0;
    const ElfW(Dyn) * dynamic = nullptr;

    [[nodiscard]] bool contains(std::uintptr_t address) const { return address >= low && address < high; }
};

/// Returns the object whose mapping contains `address`.
std::optional<LoadedObject> object_at(const void* address);

std::vector<LoadedObject> loaded_objects();

/// How many objects the loader has loaded and unloaded since the start.
struct LoaderCounts {
    std::uint64_t loaded = 0;
    std::uint64_t unloaded = 0;
};
LoaderCounts loader_counts();

/// One imported function. `address` is where the object keeps its address. `own_definition` is its value in
/// this object's symbol table, or 0 if the object does not define it. `symbol` lives as long as the object is
/// mapped.
struct ImportSlot {
    const char* symbol;
    void** address;
    std::uintptr_t own_definition;
};

/// Returns whether the object exports a function with this name.
bool defines(const LoadedObject& object, const char* symbol);

/// Calls `visit` for each function slot (JUMP_SLOT, GLOB_DAT) that has a symbol.
void for_each_import(const LoadedObject& object, const std::function<void(const ImportSlot&)>& visit);

/// Returns the function that the slot leads to. If the loader has not bound the slot yet, returns what it
/// would bind. Returns null if that cannot be found.
void* real_behind(const LoadedObject& object, const ImportSlot& slot);

/// Replaces the slot's content, even in a read-only page.
Status write_slot(const LoadedObject& object, const ImportSlot& slot, void* value);

}  // namespace aoti_dbg
