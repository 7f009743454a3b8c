#include "base/readable_symbol.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace aoti_dbg {

std::string readable_symbol(std::string_view symbol) {
    std::string name(symbol);
    // Without this check, the demangler would turn "i" into "int".
    if (symbol.substr(0, 2) != "_Z") return name;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), &std::free);
    return readable == nullptr ? name : readable.get();
}

}  // namespace aoti_dbg
