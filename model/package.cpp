// Reads the sources and the JSON of a package. It runs in the user's process while a model loads. So it
// throws no exception, preserves errno and uses neither iostreams nor the locale. A hostile file cannot use
// more memory than its own size and kMaxEntries.

#include "model/package.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/package_files.hpp"
#include "model/source_lexer.hpp"

namespace aoti_dbg {
namespace {

/// Exceeds the kernels and nodes of any model.
constexpr std::size_t kMaxEntries = 1U << 16U;

template <std::size_t N>
bool is_one_of(std::string_view word, const std::string_view (&words)[N]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Reads one parameter of a prototype, word by word.
class Parameter {
  public:
    void add_pointer() { pointer_ = true; }

    void add_word(std::string_view word) {
        static constexpr std::string_view kQualifiers[] = {"const",        "volatile", "register",  "std",
                                                           "__restrict__", "restrict", "__restrict"};
        static constexpr std::string_view kIntegers[] = {
            "int64_t", "int32_t",  "long",     "int",       "bool",     "size_t",   "int8_t",
            "int16_t", "uint8_t",  "char",     "uint16_t",  "uint32_t", "uint64_t", "short",
            "signed",  "unsigned", "intptr_t", "uintptr_t", "ssize_t",  "ptrdiff_t"};
        empty_ = false;
        if (is_one_of(word, kQualifiers)) return;
        if (is_one_of(word, kIntegers)) {
            integer_ = true;
        } else if (word == "float" || word == "double") {
            floating_ = true;
        } else if (word == "void") {
            void_ = true;
        } else {
            ++other_words_;
        }
    }

    [[nodiscard]] bool is_empty() const { return empty_ && !pointer_; }
    [[nodiscard]] bool is_only_void() const { return void_ && !pointer_ && other_words_ == 0; }

    /// Counts the parameter. Returns false for a type whose passing convention is uncertain (a class, long
    /// double).
    [[nodiscard]] bool count_into(Prototype& prototype) const {
        if (pointer_) {
            ++prototype.integers;
            return true;
        }
        if (integer_ == floating_ || void_ || other_words_ > 1) return false;
        ++(floating_ ? prototype.floats : prototype.integers);
        return true;
    }

  private:
    bool empty_ = true;
    bool pointer_ = false;
    bool integer_ = false;
    bool floating_ = false;
    bool void_ = false;
    std::uint32_t other_words_ = 0;  // the parameter's name, or parts of an unknown type
};

/// Skips past the bracket that closes the last one read.
void skip_brackets(SourceLexer& lexer) {
    std::size_t depth = 1;
    while (depth > 0) {
        const Token token = lexer.next();
        if (token.kind == Token::Kind::end) return;
        if (token.is('(')) ++depth;
        if (token.is(')')) --depth;
    }
}

/// Reads from after the opening bracket to after the closing one. Returns nothing if it cannot parse the
/// text.
std::optional<Prototype> read_parameters(SourceLexer& lexer) {
    Prototype prototype;
    Parameter parameter;
    std::size_t round = 0;
    std::size_t angle = 0;
    bool first = true;
    for (;;) {
        const Token token = lexer.next();
        if (token.kind == Token::Kind::end || token.is(';') || token.is('{')) return std::nullopt;
        const bool closes = round == 0 && token.is(')');
        if (closes || (round == 0 && angle == 0 && token.is(','))) {
            if (closes && first && (parameter.is_empty() || parameter.is_only_void())) return prototype;
            if (angle > 0 || !parameter.count_into(prototype)) return std::nullopt;
            if (closes) return prototype;
            parameter = Parameter();
            first = false;
        } else if (token.is('(')) {
            ++round;
        } else if (token.is(')')) {
            --round;
        } else if (token.is('<')) {
            ++angle;
        } else if (token.is('>')) {
            if (angle > 0) --angle;
        } else if (token.is('=') || token.is('.')) {
            return std::nullopt;  // Inductor writes no defaults or variadic functions
        } else if (angle > 0) {
            continue;
        } else if (token.is('*') || token.is('&') || token.is('[')) {
            parameter.add_pointer();
        } else if (token.kind == Token::Kind::word) {
            parameter.add_word(token.text);
        }
    }
}

void record_prototype(std::string_view name, const Prototype& prototype, PackageInfo& info) {
    const auto known = info.cpp_kernels.find(name);
    if (known == info.cpp_kernels.end()) {
        if (info.cpp_kernels.size() < kMaxEntries) info.cpp_kernels.emplace(name, prototype);
    } else if (known->second.stack_words() < prototype.stack_words()) {
        // Two kernels have the same name. One forwarded word too many is harmless, one too few crashes.
        known->second = prototype;
    }
}

/// Reads what follows `extern "C"` if it declares a kernel. Returns the first unused token.
Token read_declaration(SourceLexer& lexer, PackageInfo& info) {
    std::string_view name;
    for (;;) {
        const Token token = lexer.next();
        if (token.kind == Token::Kind::word && token.text != "extern") {
            name = token.text;
        } else if (token.is('(') && (name == "__attribute__" || name == "__declspec")) {
            skip_brackets(lexer);
        } else if (token.is('(')) {
            if (name.substr(0, 4) != "cpp_") return lexer.next();
            const std::optional<Prototype> prototype = read_parameters(lexer);
            if (prototype) record_prototype(name, *prototype, info);
            return lexer.next();
        } else if (!token.is('*') && !token.is('&') && !token.is('[') && !token.is(']') && !token.is(':')) {
            return token;
        }
    }
}

void find_prototypes(std::string_view source, PackageInfo& info) {
    SourceLexer lexer(source);
    Token token = lexer.next();
    while (token.kind != Token::Kind::end) {
        const bool linkage = token.is_word("extern");
        token = lexer.next();
        if (linkage && token.is_string() && token.text == "C") token = read_declaration(lexer, info);
    }
}

/// Returns c2ee for /tmp/x/c2ee.cubin.
std::string_view file_stem(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
    return path.substr(0, path.rfind('.'));
}

/// Reads a call of loadKernel from its opening bracket on. The arguments are a file or the start of the
/// embedded image, the function, and more.
TritonKernel read_load_call(SourceLexer& lexer) {
    TritonKernel kernel;
    std::size_t depth = 0;
    std::size_t argument = 0;
    std::string path;
    for (;;) {
        const Token token = lexer.next();
        if (token.kind == Token::Kind::end || token.is(';')) break;
        if (token.is('(')) ++depth;
        if (token.is(')') && (depth == 0 || --depth == 0)) break;
        if (depth == 1 && token.is(',')) {
            ++argument;
            if (!kernel.function.empty()) break;
        }
        if (token.is_string()) (argument == 0 ? path : kernel.function) += string_value(token);
    }
    kernel.cubin = file_stem(path);
    return kernel;
}

/// The strings that macros of the wrapper source stand for.
class Macros {
  public:
    /// Reads `define NAME "..."`, from the word after `define` on. Returns the first token that it did not
    /// use.
    Token read(SourceLexer& lexer) {
        const Token name = lexer.next();
        Token token = lexer.next();
        if (name.kind != Token::Kind::word || !token.is_string() || values_.size() >= kMaxEntries)
            return token;
        for (std::string& value = values_[std::string(name.text)]; token.is_string(); token = lexer.next())
            value += string_value(token);
        return token;
    }
    [[nodiscard]] std::string value(const std::string& name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? std::string() : found->second;
    }

  private:
    std::map<std::string, std::string> values_;
};

/// A wrapper whose kernels were tuned when it was compiled (PyTorch 2.12 and later) loads triton_poi_0 from
/// what TRITON_POI_0_CUBIN_PATH and TRITON_POI_0_MANGLED_NAME stand for.
void complete(TritonKernel& kernel, const Macros& macros) {
    if (!kernel.function.empty()) return;
    std::string prefix = kernel.name;
    for (char& letter : prefix)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    kernel.cubin = file_stem(macros.value(prefix + "_CUBIN_PATH"));
    kernel.function = macros.value(prefix + "_MANGLED_NAME");
}

void find_triton_kernels(std::string_view source, PackageInfo& info) {
    SourceLexer lexer(source);
    Macros macros;
    std::string_view last_word;
    std::string_view assigned;  // word before the last `=`
    for (Token token = lexer.next(); token.kind != Token::Kind::end; token = lexer.next()) {
        while (token.is_word("define"))
            token = macros.read(lexer);
        if (token.is('=')) {
            assigned = last_word;
            continue;
        }
        if (token.is_word("loadKernel") && !assigned.empty() && info.triton_kernels.size() < kMaxEntries) {
            TritonKernel kernel = read_load_call(lexer);
            kernel.name = assigned;
            complete(kernel, macros);
            if (!kernel.function.empty()) info.triton_kernels.push_back(std::move(kernel));
        }
        assigned = {};
        last_word = token.kind == Token::Kind::word ? token.text : std::string_view();
    }
}

/// Reads {"nodes": [{"node": {"target": "mylib::op"}}, ...]} as a stream, so that depth and size cost no
/// memory.
class ProxyOpsReader : public nlohmann::json_sax<nlohmann::json> {
  public:
    std::vector<std::string> ops;

    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }
    bool string(string_t& text) override {
        if (depth_ == kInNode && in_nodes_ && in_node_ && at_target_ && !ops.empty()) ops.back() = text;
        return value();
    }
    bool start_object(std::size_t) override { return open(); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        if (depth_ == kInRoot) in_nodes_ = name == "nodes";
        if (depth_ == kInElement) in_node_ = name == "node";
        if (depth_ == kInNode) at_target_ = name == "target";
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
        return false;
    }

  private:
    enum : std::size_t { kInRoot = 1, kInNodes = 2, kInElement = 3, kInNode = 4 };

    bool value() {
        if (depth_ == kInNodes && in_nodes_) ops.emplace_back();
        return ops.size() <= kMaxEntries;
    }
    bool open() {
        const bool go_on = value();
        ++depth_;
        if (depth_ == kInElement) in_node_ = false;
        if (depth_ == kInNode) at_target_ = false;
        return go_on;
    }
    bool close() {
        --depth_;
        return true;
    }

    std::size_t depth_ = 0;
    bool in_nodes_ = false;
    bool in_node_ = false;
    bool at_target_ = false;
};

void find_proxy_ops(std::string_view json, PackageInfo& info) {
    ProxyOpsReader reader;
    if (nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) info.proxy_ops = std::move(reader.ops);
}

/// Runs `work`. If it runs out of memory, the results so far remain.
template <typename Work>
void contained(const Work& work) {
    const int error = errno;
    try {
        work();
    } catch (...) {  // NOLINT(bugprone-empty-catch): a model with unknown names is better than a dead program
    }
    errno = error;
}

void read_files(const std::string& so_path, PackageInfo& info) {
    const PackageFiles files = find_package_files(so_path);
    std::string text;
    info.has_wrapper_source = read_file(files.wrapper_source, text);
    if (info.has_wrapper_source) {
        info.prints_names = text.find("\"[ before_launch: ") != std::string::npos;
        find_prototypes(text, info);
        find_triton_kernels(text, info);
    }
    // The wrapper declares what it calls. Kernel sources add what is missing, for example if there is no
    // wrapper.
    PackageInfo from_kernels;
    std::size_t bytes = 0;  // limits the total, because the program waits
    for (const std::string& path : files.kernel_sources) {
        if (bytes <= kLargestFile && read_file(path, text)) find_prototypes(text, from_kernels);
        bytes += text.size();
    }
    info.cpp_kernels.merge(from_kernels.cpp_kernels);
    for (const std::string& path : files.extern_nodes) {
        if (info.proxy_ops.empty() && read_file(path, text)) find_proxy_ops(text, info);
    }
}

}  // namespace

void read_cpp_prototypes(std::string_view source, PackageInfo& info) {
    contained([&] { find_prototypes(source, info); });
}

void read_triton_kernels(std::string_view wrapper_source, PackageInfo& info) {
    contained([&] { find_triton_kernels(wrapper_source, info); });
}

void read_proxy_ops(std::string_view json, PackageInfo& info) {
    contained([&] { find_proxy_ops(json, info); });
}

PackageInfo read_package(const std::string& so_path) {
    PackageInfo info;
    contained([&] { read_files(so_path, info); });
    return info;
}

}  // namespace aoti_dbg
