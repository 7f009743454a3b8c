#include "cli/replay/python_script.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/replay/recorded_model.hpp"
#include "cli/replay/script_document.hpp"
#include "cli/replay/script_tensors.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// One call of a script, in parts.
struct Parts {
    std::string call;    // statements
    std::string checks;  // a list
    bool finds_op = false;
};

Status missing_argument(const LaunchRecord& launch, const LaunchArgument& argument) {
    const std::string name =
        argument.parameter.empty() ? std::to_string(argument.position) : argument.parameter;
    return Status::error("the value of argument " + name + " of " + launch.kernel + " is not recorded");
}

/// Returns the argument as an expression.
Result<std::string> expression_of(const LaunchRecord& launch, const LaunchArgument& argument,
                                  ScriptTensors& tensors) {
    if (!argument.is_known()) return missing_argument(launch, argument);
    if (argument.labels.empty() && !argument.is_list) return argument.value;
    std::string text;
    for (const std::string& label : argument.labels) {
        if (!text.empty()) text += ", ";
        if (label.empty()) {
            text += "None";
            continue;
        }
        Result<std::string> name = tensors.take(label, argument.position);
        if (!name.ok()) return name;
        text += name.value();
    }
    return argument.is_list ? "[" + text + "]" : text;
}

/// A call of a C shim passes a device as its type and its index.
std::optional<std::string> device_of(const std::vector<LaunchArgument>& arguments, std::size_t at) {
    const LaunchArgument& type = arguments[at];
    if (type.parameter != "device" || at + 1 == arguments.size()) return std::nullopt;
    const LaunchArgument& index = arguments[at + 1];
    if (index.parameter != "device_index_" || type.value == "None") return std::nullopt;
    if (type.value == "0") return "\"cpu\"";
    return type.value == "1" ? std::optional("\"cuda:" + index.value + "\"") : std::nullopt;
}

/// Returns the items of a list in lines.
std::string wrapped(const std::vector<std::string>& items) {
    constexpr std::size_t kWidth = 100;
    std::string text;
    std::size_t width = kWidth;
    for (const std::string& item : items) {
        const bool fits = width + item.size() + 2 <= kWidth;
        if (!fits) text += text.empty() ? "    " : "\n    ";
        if (fits) text += ' ';
        width = fits ? width + item.size() + 2 : item.size() + 5;
        text += item + ",";
    }
    return text + "\n";
}

class ScriptWriter {
  public:
    ScriptWriter(const LaunchFile& file, ScriptTensors& tensors) : launch_(file.launch), tensors_(tensors) {}

    /// A call of the C shim, or of an op behind the proxy executor.
    Status write_op() {
        std::vector<std::string> items;
        std::size_t results = 0;
        for (std::size_t i = 0; i < launch_.arguments.size(); ++i) {
            const LaunchArgument& argument = launch_.arguments[i];
            if (argument.parameter == "device_index_") continue;
            if (argument.role == Role::makes) {
                check_results(argument, results);
                continue;
            }
            const std::optional<std::string> device = device_of(launch_.arguments, i);
            Result<std::string> value =
                device ? Result<std::string>(*device) : expression_of(launch_, argument, tensors_);
            if (!value.ok()) return value.status();
            has_empty_list_ = has_empty_list_ || is_null_list(i);
            items.push_back(python_string(argument.parameter) + ": " + value.value());
            check_written(argument);
        }
        parts_.call = "arguments = {\n" + wrapped(items) + "}\n" + op_call(launch_.op, has_empty_list_);
        parts_.finds_op = is_shim(launch_.op);
        return {};
    }

    /// The statement of a Python wrapper.
    Status write_statement() {
        const std::string& text = launch_.statement;
        for (std::size_t at = 0; at < text.size(); ++at) {
            std::size_t number = 0;
            const auto [end, error] =
                std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
            if (text[at] != '$' || error != std::errc() || number >= launch_.arguments.size()) {
                parts_.call += text[at];
                continue;
            }
            const LaunchArgument& argument = launch_.arguments[number];
            const Result<std::string> value = expression_of(launch_, argument, tensors_);
            if (!value.ok()) return value.status();
            parts_.call += value.value();
            check_written(argument);
            at = static_cast<std::size_t>(end - text.data()) - 1;
        }
        parts_.call += '\n';
        for (const LaunchArgument& argument : launch_.arguments)
            if (argument.role == Role::makes && !argument.labels.empty())
                add_check(argument.labels.front(), argument.position, argument.labels.front());
        return {};
    }

    /// The launch of a kernel by a package, which passes what the kernel's own launcher takes.
    Status write_launch() {
        std::string list;
        for (const LaunchArgument& argument : launch_.arguments) {
            const Result<std::string> value = expression_of(launch_, argument, tensors_);
            if (!value.ok()) return value.status();
            list += value.value() + ", ";
            check_written(argument);
        }
        parts_.call = "kernel.run(" + list + "stream=stream)\n";
        return {};
    }

    [[nodiscard]] Parts& parts() { return parts_; }

  private:
    void add_check(const std::string& label, std::uint32_t position, const std::string& variable) {
        const std::string file = tensors_.file_after(label, position);
        if (!file.empty())
            parts_.checks +=
                "    check(" + python_string(label) + ", " + variable + ", " + python_string(file) + "),\n";
    }

    /// The length of a list in the C shim is an argument of its own, which the record leaves out.
    [[nodiscard]] bool is_null_list(std::size_t at) const {
        const std::vector<LaunchArgument>& all = launch_.arguments;
        return all[at].value == "None" && at + 1 < all.size() && all[at + 1].position == all[at].position + 2;
    }

    void check_written(const LaunchArgument& argument) {
        if (argument.role == Role::reads) return;
        for (const std::string& label : argument.labels) {
            if (label.empty()) continue;
            const Result<std::string> name = tensors_.take(label, argument.position);
            if (name.ok()) add_check(label, argument.position, name.value());
        }
    }

    void check_results(const LaunchArgument& argument, std::size_t& next) {
        for (const std::string& label : argument.labels) {
            // The C shim may leave out a result, so ret2 can come after ret0.
            std::size_t number = next++;
            if (argument.parameter.starts_with("ret"))
                std::from_chars(argument.parameter.data() + 3,
                                argument.parameter.data() + argument.parameter.size(), number);
            add_check(label, argument.position, "results[" + std::to_string(number) + "]");
        }
    }

    const LaunchRecord& launch_;
    ScriptTensors& tensors_;
    Parts parts_;
    bool has_empty_list_ = false;
};

Status write_new(const std::string& path, const std::string& text) {
    const Descriptor file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666));
    const auto failed = [&path](const char* what, int error) {
        const std::string remedy = error == EEXIST ? "Set --python to another file."
                                                   : remedy_for(error, "--python", PlaceKind::file);
        return Status::error(file_failure(what, path, error).message() + ". " + remedy);
    };
    if (file.number() < 0) return failed("cannot create", errno);
    const int error = write_fully(file.number(), text.data(), text.size());
    if (error != 0) unlink(path.c_str());
    return error == 0 ? Status() : failed("cannot write", error);
}

}  // namespace

Result<PythonScript> python_script(const LaunchFile& file, const std::string& kernel_file) {
    const LaunchRecord& launch = file.launch;
    const bool is_op = launch.kind == LaunchKind::op;
    if (launch.arguments.empty())
        return Status::error("the arguments of " + launch.kernel + " are not recorded" +
                             (is_op ? "" : ". Capture the launch again"));
    Result<RecordedModels> models = RecordedModels::open(file);
    if (!models.ok()) return models.status();
    PythonScript script;
    Result<std::string> source = is_op ? std::string() : models.value().source_of(file);
    if (!source.ok()) return source.status();
    script.kernel = std::move(source.value());
    if (!is_op && script.kernel.empty())
        return Status::error("the recording has no Triton source of " + launch.function +
                             ". Record with --evidence on");
    ScriptTensors tensors(file);
    ScriptWriter writer(file, tensors);
    const Status written = !launch.statement.empty() ? writer.write_statement()
                           : is_op                   ? writer.write_op()
                                                     : writer.write_launch();
    if (!written.ok()) return written;
    const Parts& parts = writer.parts();
    script.text = script_head(file, models.value().model_of(file), tensors.recording()) +
                  script_functions(tensors.needs_restore(), parts.finds_op) + "\n" + tensors.loaded();
    if (!is_op) script.text += kernel_setup(launch, kernel_file);
    script.text += parts.call + script_end(parts.checks);
    return script;
}

Status write_script(const LaunchFile& file, const std::string& path) {
    const fs::path kernel = fs::path(path).replace_extension(".kernel.py");
    const Result<PythonScript> script = python_script(file, kernel.filename().string());
    if (!script.ok()) return script.status();
    Status written = write_new(path, script.value().text);
    if (!written.ok() || script.value().kernel.empty()) return written;
    written = write_new(kernel.string(), script.value().kernel);
    if (!written.ok()) unlink(path.c_str());
    return written;
}

}  // namespace aoti_dbg::cli
