#include "base/compiled_function.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kStart = "torch.compile";
constexpr std::string_view kCaller = ", called at ";

}  // namespace

std::string title_of(const CompiledFunction& function) {
    std::string title(kStart);
    if (function.compile_id.empty()) {
        if (!function.graph.empty()) title += " " + function.graph;
    } else {
        title += " " + function.compile_id;
        if (!function.direction.empty()) title += " " + function.direction;
    }
    return function.function.empty() ? title : title + " of " + function.function;
}

std::string description_of(const CompiledFunction& function) {
    std::string text = title_of(function);
    if (!function.place.empty()) text += " (" + function.place + ")";
    return function.recompiled.empty() ? text : text + ", recompiled because of " + function.recompiled;
}

std::string name_of_run(std::string_view title, std::string_view caller) {
    std::string name(title);
    if (!caller.empty()) name.append(kCaller).append(caller);
    return name;
}

CompiledRun compiled_run_of(std::string_view name) {
    if (!name.starts_with(kStart)) return {};
    const std::size_t end = name.find(kCaller);
    if (end == std::string_view::npos) return {name, {}};
    return {name.substr(0, end), name.substr(end + kCaller.size())};
}

}  // namespace aoti_dbg
