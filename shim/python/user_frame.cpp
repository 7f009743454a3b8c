#include "shim/python/user_frame.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

namespace aoti_dbg::python {
namespace {

// The references live as long as the interpreter.
struct Words {
    Object* back = api()->PyUnicode_InternFromString("f_back");
    Object* code = api()->PyUnicode_InternFromString("f_code");
    Object* line = api()->PyUnicode_InternFromString("f_lineno");
    Object* file = api()->PyUnicode_InternFromString("co_filename");
    Object* name = api()->PyUnicode_InternFromString("co_name");
};

const Words& words() {
    static const Words known;
    return known;
}

Reference member(const Reference& of, Object* name) {
    Object* const found = of && name != nullptr ? api()->PyObject_GetAttr(of.get(), name) : nullptr;
    if (found == nullptr) api()->PyErr_Clear();
    return Reference(found);
}

/// Valid as long as the object.
std::string_view text_of(const Reference& object) {
    std::ptrdiff_t length = 0;
    const char* const text = object ? api()->PyUnicode_AsUTF8AndSize(object.get(), &length) : nullptr;
    if (text == nullptr) api()->PyErr_Clear();
    return text == nullptr ? std::string_view() : std::string_view(text, static_cast<std::size_t>(length));
}

/// Returns ".../torch/", or "" if it is unknown.
std::string folder_of_torch() {
    const Reference module(api()->PyImport_ImportModule("torch"));  // it is imported already
    if (!module) api()->PyErr_Clear();
    const Reference file = member(module, api()->PyUnicode_InternFromString("__file__"));
    const std::string_view path = text_of(file);
    return std::string(path.substr(0, path.rfind('/') + 1));
}

enum class Owner : std::uint8_t { none, user, torch, dynamo };

/// A frame, and whose it is.
struct Frame {
    Reference object;
    Reference code{nullptr};
    Owner owner = Owner::none;

    explicit Frame(Reference frame) : object(std::move(frame)) {
        static const std::string torch = folder_of_torch();
        if (!object || object.get() == api()->none) return;
        code = member(object, words().code);
        const Reference file = member(code, words().file);
        const std::string_view path = text_of(file);
        owner = Owner::user;
        if (torch.empty() || !path.starts_with(torch)) return;
        owner = Owner::torch;
        if (!path.ends_with("/_dynamo/eval_frame.py")) return;
        // This function calls those that Dynamo compiled.
        const Reference name = member(code, words().name);
        if (text_of(name) == "compile_wrapper") owner = Owner::dynamo;
    }
    void leave() { *this = Frame(member(object, words().back)); }
    [[nodiscard]] UserLine line() const {
        UserLine at;
        if (owner != Owner::user) return at;
        const Reference number = member(object, words().line);
        at.code = member(object, words().code);
        at.line = number ? api()->PyLong_AsLongLong(number.get()) : 0;
        if (api()->PyErr_Occurred() != nullptr) api()->PyErr_Clear();  // there is no line
        return at;
    }
};

}  // namespace

std::string UserLine::text() const {
    const Reference file = member(code, words().file);
    const Reference name = member(code, words().name);
    return "File \"" + std::string(text_of(file)) + "\", line " + std::to_string(line) + ", in " +
           std::string(text_of(name));
}

UserLine calling_line(bool is_backward) {
    constexpr int kMostFrames = 64;
    Object* const innermost = api()->PyEval_GetFrame();  // borrowed
    if (innermost == nullptr) return {};
    api()->Py_IncRef(innermost);
    Frame frame{Reference(innermost)};
    frame.leave();
    int left = kMostFrames;
    const auto leave_while = [&](auto is_passed) {
        while (is_passed(frame.owner) && left-- > 0)
            frame.leave();
    };
    leave_while([](Owner owner) { return owner == Owner::torch; });
    UserLine found = frame.line();
    if (is_backward) return found;
    // This may be the compiled function itself, or one that it calls. Its caller is beyond Dynamo.
    leave_while([](Owner owner) { return owner == Owner::torch || owner == Owner::user; });
    if (frame.owner != Owner::dynamo) return found;
    leave_while([](Owner owner) { return owner == Owner::torch || owner == Owner::dynamo; });
    UserLine caller = frame.line();
    return caller.is_known() ? std::move(caller) : std::move(found);
}

}  // namespace aoti_dbg::python
