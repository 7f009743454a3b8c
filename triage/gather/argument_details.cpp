// See argument_details.hpp.
#include "triage/gather/argument_details.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "model/last_writer.hpp"
#include "model/tensor_layout.hpp"

namespace aoti_dbg {
namespace {

// If the source was compiled for aligned inputs, it copies inputs without this alignment.
constexpr std::uint64_t kAlignment = 16;
constexpr std::size_t kMostSolved = 1024;  // tensors used to solve for symbolic sizes

/// Returns "triton_poi_fused_exp_0 (call 3)", a call of the same run.
std::string words_of(const LastWriter& writer, const std::vector<std::string>& names) {
    const std::string likely = writer.is_likely ? "likely " : "";
    switch (writer.kind) {
        case LastWriter::Kind::call: {
            CrashCall call;
            call.name = names[writer.call];
            call.call = static_cast<std::uint32_t>(writer.call);
            call.is_likely = writer.is_likely;
            return call_text(call);
        }
        case LastWriter::Kind::input:
            return likely + "the caller (model input)";
        case LastWriter::Kind::constant:
            return likely + "no call of this run (constant " + writer.constant + ")";
        case LastWriter::Kind::no_call:
            return "no call since the run allocated it";
        case LastWriter::Kind::unknown:
            break;
    }
    return {};
}

/// True for arguments in the report. The caller numbers them in the same order.
bool is_reported(const Argument& argument) {
    return argument.kind != ArgumentKind::absent && argument.kind != ArgumentKind::unknown;
}

/// True for "2.5", "-1e-05".
bool is_number(const std::string& text) {
    double number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

bool is_one_tensor(const Argument& argument) {
    return argument.tensors.size() == 1 && !argument.tensors.front().name.empty();
}

bool has_memory_of_another(const WrapperInfo& info, const std::string& name) {
    return std::any_of(info.run.shared_memory.begin(), info.run.shared_memory.end(),
                       [&name](const SharedMemory& shared) { return shared.name == name; });
}

}  // namespace

ArgumentDetails::ArgumentDetails(const FoundSource& source, const std::vector<std::string>& names,
                                 const std::string& parameters, const std::vector<TensorOfRun>& tensors)
    : source_(source),
      names_(names),
      launch_(source.info, source.sites.back(), parameters),
      tensors_(tensors),
      symbols_(launch_.symbols()) {
    for (std::size_t i = 0; i < std::min(tensors.size(), kMostSolved); ++i)
        if (tensors[i].origin == tensors::Origin::made)
            solve_by_bytes(source.info, tensors[i].name, tensors[i].bytes, symbols_);
}

const std::vector<Argument>& ArgumentDetails::source_arguments() const {
    return source_.info.run.sites[source_.sites.back()].arguments;
}

std::vector<CrashArgument> ArgumentDetails::arguments() const {
    std::vector<CrashArgument> arguments;
    for (const Argument& argument : source_arguments())
        if (is_reported(argument)) arguments.push_back(details_of(argument));
    for (const TensorMemory& memory : launch_.tensors()) {
        const auto is_it = [&memory](const CrashArgument& argument) {
            return argument.parameter == memory.parameter && argument.label == memory.label;
        };
        const auto argument = std::find_if(arguments.begin(), arguments.end(), is_it);
        if (argument == arguments.end()) continue;
        argument->begin = memory.begin;
        argument->bytes = memory.bytes;
    }
    return arguments;
}

CrashArgument ArgumentDetails::details_of(const Argument& argument) const {
    CrashArgument details;
    details.label = argument.label();
    details.parameter = argument.parameter;
    details.what = argument.tensors.empty() ? argument.value : std::string();
    if (!argument.parameter.empty() && argument.parameter != details.label)
        details.what.insert(0, details.what.empty() ? "" : " = ").insert(0, argument.parameter);
    if (details.what == details.label) details.what.clear();
    if (argument.tensors.empty()) {
        add_value(argument, details);
        return details;
    }
    if (argument.role != Role::writes)
        details.written_by = words_of(last_writer(source_.info, source_.sites, details.label), names_);
    if (is_one_tensor(argument)) add_layout(argument, details);
    return details;
}

void ArgumentDetails::add_value(const Argument& argument, CrashArgument& details) const {
    if (argument.kind != ArgumentKind::scalar) return;
    details.value = launch_.value_of(argument);
    if (!details.value.empty()) return;
    if (const std::optional<std::int64_t> number = evaluate(argument.value, symbols_))
        details.value = std::to_string(*number);
    else if (is_number(argument.value))
        details.value = argument.value;
}

void ArgumentDetails::add_layout(const Argument& argument, CrashArgument& details) const {
    const TensorLayout layout = layout_of(source_.info, source_.sites.back(), argument.tensors.front());
    details.dtype = layout.dtype;
    details.has_sizes = layout.has_sizes;
    details.sizes = layout.sizes_as_known(symbols_);
    details.is_expected = layout.is_expected && (layout.has_sizes || !layout.dtype.empty());
}

void ArgumentDetails::add_places(std::vector<CrashArgument>& arguments) const {
    auto details = arguments.begin();
    for (const Argument& argument : source_arguments()) {
        if (!is_reported(argument)) continue;
        if (details == arguments.end()) return;
        if (details->begin == 0 && details->label == argument.label() && is_one_tensor(argument))
            add_place(argument, *details);
        ++details;
    }
}

void ArgumentDetails::add_place(const Argument& argument, CrashArgument& details) const {
    const TensorLayout layout = layout_of(source_.info, source_.sites.back(), argument.tensors.front());
    const auto is_it = [&layout](const TensorOfRun& tensor) { return tensor.name == layout.name; };
    const auto memory = std::find_if(tensors_.begin(), tensors_.end(), is_it);
    if (layout.name.empty() || memory == tensors_.end()) return;
    const bool is_input = layout.owner == TensorLayout::Owner::input;
    if (is_input != (memory->origin == tensors::Origin::input)) return;
    if (is_input && memory->address % kAlignment != 0 && has_memory_of_another(source_.info, layout.name))
        return;
    const std::optional<std::uint64_t> before = layout.bytes_before(symbols_);
    if (!before) return;
    if (__builtin_add_overflow(memory->address, *before, &details.begin)) details.begin = 0;
    details.is_from_tensor_map = true;
    const bool is_whole = !argument.tensors.front().view;
    if (details.begin != 0) details.bytes = is_whole ? memory->bytes : layout.bytes(symbols_);
}

}  // namespace aoti_dbg
