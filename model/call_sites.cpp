#include "model/call_sites.hpp"

#include <cerrno>
#include <utility>

#include "model/callee.hpp"
#include "model/input_guards.hpp"
#include "model/package_files.hpp"
#include "model/package_json.hpp"
#include "model/reading_limits.hpp"
#include "model/run_body.hpp"
#include "model/statement.hpp"
#include "model/triton_helper.hpp"

namespace aoti_dbg {
namespace {

/// Parses `const float* in_ptr0`.
CppParameter read_parameter(const Statement& statement, TokenRange range, Keeper& keeper) {
    CppParameter parameter;
    bool is_pointer = false;
    bool is_const = false;
    for (std::size_t at = range.first; at < range.last; ++at) {
        is_const = is_const || (statement[at].is_word("const") && !is_pointer);
        is_pointer = is_pointer || statement[at].is('*');
    }
    if (range.size() > 1 && statement[range.last - 1].kind == Token::Kind::word) {
        parameter.name = keeper.keep(statement[range.last - 1].text);
        --range.last;
    }
    parameter.type = keeper.keep(statement.text(range));
    if (is_pointer && !is_const) {
        parameter.role = parameter.name.compare(0, 6, "in_out") == 0 ? Role::updates : Role::writes;
    }
    return parameter;
}

class WrapperReader {
  public:
    explicit WrapperReader(WrapperInfo& info) : info_(info), guards_(info.input_guards, keeper_) {}

    void read_json(const WrapperTexts& texts) {
        callees_.extern_nodes = read_extern_nodes(texts.extern_nodes, keeper_);
        info_.origins = read_kernel_information(texts.kernel_information, keeper_);
    }

    void read_source(std::string_view source, bool is_wrapper) {
        if (source.size() > kLargestFile) {
            source = source.substr(0, kLargestFile);
            info_.is_complete = false;
        }
        SourceLexer lexer(source, SourceLexer::Comments::keep);
        StatementReader reader(source, lexer);
        Statement statement;
        do {
            reader.next(statement);
            if (statement.empty()) continue;
            see_prototype(statement);
            if (is_wrapper) see(statement, reader);
        } while (statement.end() != Statement::End::source_ends);
        keeper_.steps += reader.steps();
    }

    void finish() {
        info_.steps = keeper_.steps;
        if (keeper_.is_exhausted()) info_.is_complete = false;
    }

  private:
    void see(const Statement& statement, StatementReader& reader) {
        guards_.see(statement);
        if (statement.end() != Statement::End::block_opens) {
            see_position(statement);
            return;
        }
        if (auto kernel = read_triton_helper(statement, reader, keeper_)) {
            if (!keeper_.allows(info_.triton_kernels.size(), kMaxPositions)) return;
            callees_.triton_kernels.emplace(kernel->name,
                                            static_cast<std::uint32_t>(info_.triton_kernels.size()));
            info_.triton_kernels.push_back(*std::move(kernel));
            return;
        }
        const std::size_t open = statement.find('(', statement.all());
        const Token& function = statement[open - 1];
        if (function.is_word("AOTInductorModel")) see_constructor(statement);
        if (function.is_word("run_impl") || function.is_word("inductor_entry_impl")) {
            info_.run = {};
            read_run_body(reader, callees_, info_, keeper_, info_.run);
            // A C++ wrapper of torch.compile has no table of them.
            if (info_.inputs.empty()) info_.inputs = info_.run.inputs;
        } else if (function.is_word("_const_run_impl")) {
            info_.folding = {};
            read_run_body(reader, callees_, info_, keeper_, info_.folding);
        }
    }

    /// Reads `extern "C" void cpp_fused_relu_0(float* in_out_ptr0, ...);`.
    void see_prototype(const Statement& statement) {
        const std::size_t open = statement.find('(', statement.all());
        if (open < 2 || open >= statement.size()) return;
        const Token& name = statement[open - 1];
        if (name.text.substr(0, 4) != "cpp_" || statement.closing(open) != statement.size() - 1) return;
        bool is_c = false;
        for (std::size_t at = 0; at + 1 < open && !is_c; ++at) {
            is_c = statement[at].is_word("extern");
        }
        if (!is_c || !keeper_.allows(callees_.cpp_kernels.size(), kMaxPositions)) return;
        if (callees_.cpp_kernels.find(name.text) != callees_.cpp_kernels.end()) return;
        std::vector<TokenRange> parts;
        statement.split(open, parts);
        std::vector<CppParameter> parameters;
        for (const TokenRange& part : parts) {
            if (!keeper_.allows_entry()) return;
            parameters.push_back(read_parameter(statement, part, keeper_));
        }
        callees_.cpp_kernels.emplace(keeper_.keep(name.text), std::move(parameters));
    }

    /// Reads `AOTInductorModel::AOTInductorModel(...) : AOTInductorModelBase(1, 2, 2, device_str, ...,
    /// include_weights) {`.
    void see_constructor(const Statement& statement) {
        for (std::size_t at = 0; at + 1 < statement.size(); ++at) {
            if (!statement[at].is_word("AOTInductorModelBase") || !statement[at + 1].is('(')) continue;
            std::vector<TokenRange> parts;
            statement.split(at + 1, parts);
            info_.has_weights = parts.size() < 6 || statement.text(parts[5]) != "false";
            return;
        }
    }

    /// Reads `inputs_info_[0].name = "arg4_1";` and `constants_info_[0].shape = {16, 10};`.
    void see_position(const Statement& statement) {
        const Token& table = statement[0];
        if (!statement[1].is('[') || !statement[3].is(']') || !statement[6].is('=') || statement.size() < 8)
            return;
        const std::size_t at = number_value(statement[2]);
        const TokenRange value = {7, statement.size()};
        if (at >= kMaxPositions) return;
        if (table.is_word("inputs_info_")) set_name(info_.inputs, at, statement);
        if (table.is_word("outputs_info_")) set_name(info_.output_names, at, statement);
        if (table.is_word("constants_info_")) set_constant(at, statement[5].text, statement, value);
    }

    std::string read_string(const Statement& statement) {
        std::string text;
        for (std::size_t at = 7; at < statement.size() && text.size() < kMaxText; ++at) {
            if (statement[at].is_string()) text += keeper_.keep(string_value(statement[at]));
        }
        return text;
    }

    void set_name(std::vector<std::string>& names, std::size_t at, const Statement& statement) {
        if (!statement[5].is_word("name")) return;
        if (names.size() <= at) names.resize(at + 1);
        names[at] = read_string(statement);
    }

    void set_constant(std::size_t at, std::string_view field, const Statement& statement, TokenRange value) {
        if (info_.constants.size() <= at) info_.constants.resize(at + 1);
        ConstantInfo& constant = info_.constants[at];
        std::string_view text = statement.text(value);
        if (field == "name") constant.name = read_string(statement);
        if (field == "original_fqn") constant.original_fqn = read_string(statement);
        if (field == "shape") constant.shape = keeper_.keep(text);
        if (field == "stride") constant.stride = keeper_.keep(text);
        if (field == "data_size") constant.data_size = keeper_.keep(text);
        if (field == "from_folded") constant.from_folded = text == "true";
        if (field == "type") constant.type = keeper_.keep(last_word(statement));
        if (field == "dtype") {
            constexpr std::string_view kPrefix = "cached_torch_dtype_";
            std::string_view word = last_word(statement);
            if (word.substr(0, kPrefix.size()) == kPrefix) word.remove_prefix(kPrefix.size());
            constant.dtype = keeper_.keep(word);
        }
    }

    /// Reduces static_cast<int32_t>(cached_torch_dtype_float32) to cached_torch_dtype_float32.
    static std::string_view last_word(const Statement& statement) {
        for (std::size_t at = statement.size(); at-- > 7;) {
            if (statement[at].kind == Token::Kind::word) return statement[at].text;
        }
        return {};
    }

    WrapperInfo& info_;
    Keeper keeper_;
    Callees callees_;
    InputGuardReader guards_;
};

void read_texts(const WrapperTexts& texts, WrapperInfo& info) {
    WrapperReader reader(info);
    reader.read_json(texts);
    for (const std::string_view source : texts.kernel_sources) {
        reader.read_source(source, false);
    }
    reader.read_source(texts.wrapper, true);
    reader.finish();
}

/// Returns whether the wrapper declares the cpp_* kernels that it calls. Current versions do.
bool declares_kernels(std::string_view wrapper) {
    return wrapper.find("extern \"C\"  void  cpp_") != std::string_view::npos ||
           wrapper.find("extern \"C\" void cpp_") != std::string_view::npos;
}

void read_package_files(const std::string& so_path, WrapperInfo& info) {
    const PackageFiles files = find_package_files(so_path);
    std::string wrapper;
    if (!read_file(files.wrapper_source, wrapper)) return;
    WrapperTexts texts;
    texts.wrapper = wrapper;
    std::string extern_nodes;
    for (const std::string& path : files.extern_nodes) {
        if (extern_nodes.empty()) (void)read_file(path, extern_nodes);
    }
    texts.extern_nodes = extern_nodes;
    std::string kernel_information;
    const std::size_t slash = so_path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : so_path.substr(0, slash + 1);
    (void)read_file(folder + "kernel_information.json", kernel_information);
    texts.kernel_information = kernel_information;
    std::vector<std::string> kernels;
    std::size_t bytes = declares_kernels(wrapper) ? kLargestFile : 0;
    for (const std::string& path : files.kernel_sources) {
        if (bytes >= kLargestFile || !read_file(path, kernels.emplace_back())) break;
        bytes += kernels.back().size();
    }
    texts.kernel_sources.assign(kernels.begin(), kernels.end());
    read_texts(texts, info);
}

/// Runs `work`. If it runs out of memory, there are no call sites, and reports use fallback names.
template <typename Work>
WrapperInfo contained(const Work& work) {
    const int error = errno;
    WrapperInfo info;
    try {
        work(info);
    } catch (...) {
        info = {};
        info.is_complete = false;
    }
    errno = error;
    return info;
}

}  // namespace

WrapperInfo read_call_sites(const WrapperTexts& texts) {
    return contained([&](WrapperInfo& info) { read_texts(texts, info); });
}

WrapperInfo read_call_sites_of(const std::string& so_path) {
    return contained([&](WrapperInfo& info) { read_package_files(so_path, info); });
}

}  // namespace aoti_dbg
