#include "serializer/launch_record.hpp"

#include <algorithm>
#include <span>

#include "serializer/jsonl_members.hpp"

namespace aoti_dbg {
namespace {

void append_triple(std::string_view name, const std::array<std::uint32_t, 3>& numbers, std::string& out) {
    const std::int64_t wide[3] = {numbers[0], numbers[1], numbers[2]};
    append_list(name, wide, out);
}

void append_address(std::string_view name, std::uint64_t address, std::string& out) {
    out.append(name).append("\"").append(hex_text(address)).append("\"");
}

void append_parameter(const LaunchParameter& parameter, std::string& out) {
    append_member(R"({"offset":)", parameter.offset, out);
    out += R"(,"bytes":")";
    append_hex(
        std::span(reinterpret_cast<const unsigned char*>(parameter.bytes.data()), parameter.bytes.size()),
        out);
    out += '"';
    if (!parameter.tensor.empty()) append_member(R"(,"tensor":)", parameter.tensor, out);
    if (parameter.reachable != 0) append_member(R"(,"reachable":)", parameter.reachable, out);
    out += '}';
}

void append_labels(const std::vector<std::string>& labels, std::string& out) {
    out += R"(,"labels":[)";
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (i != 0) out += ',';
        if (labels[i].empty())
            out += "null";
        else
            append_json_string(labels[i], out);
    }
    out += ']';
}

void append_argument(const LaunchArgument& argument, std::string& out) {
    append_member(R"({"parameter":)", argument.parameter, out);
    append_member(R"(,"position":)", argument.position, out);
    append_member(R"(,"role":)", word_of(argument.role), out);
    if (argument.is_list)
        append_labels(argument.labels, out);
    else if (!argument.labels.empty())
        append_member(R"(,"label":)", argument.labels.front(), out);
    else if (!argument.value.empty())
        append_member(R"(,"value":)", argument.value, out);
    out += '}';
}

void append_tensor(const LaunchTensor& tensor, std::string& out) {
    append_member(R"({"label":)", tensor.label, out);
    append_member(R"(,"position":)", tensor.position, out);
    append_address(R"(,"address":)", tensor.address, out);
    append_member(R"(,"dtype":)", tensor.facts.dtype, out);
    append_list(R"(,"sizes":)", tensor.facts.sizes, out);
    append_list(R"(,"strides":)", tensor.facts.strides, out);
    if (tensor.is_unwritten) out += R"(,"unwritten":true)";
    out += '}';
}

template <typename Entry>
void append_all(std::string_view name, const std::vector<Entry>& entries,
                void (*append)(const Entry&, std::string&), std::string& out) {
    out.append(name).append("[");
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i != 0) out += ',';
        append(entries[i], out);
    }
    out += ']';
}

void append_device(const LaunchRecord& launch, std::string& out) {
    append_member(R"(,"device":)", launch.device, out);
    append_member(R"(,"compute_capability":)", launch.compute_capability, out);
    append_member(R"(,"driver":)", static_cast<std::uint64_t>(std::max(launch.driver, 0)), out);
}

/// What only a kernel has.
void append_kernel(const LaunchRecord& launch, std::string& out) {
    append_member(R"(,"function":)", launch.function, out);
    append_triple(R"(,"grid":)", launch.grid, out);
    append_triple(R"(,"block":)", launch.block, out);
    if (launch.cluster[0] != 0) append_triple(R"(,"cluster":)", launch.cluster, out);
    append_member(R"(,"shared_bytes":)", launch.shared_bytes, out);
    if (launch.is_cooperative) out += R"(,"cooperative":true)";
    if (!launch.image.empty()) {
        append_member(R"(,"image":)", launch.image, out);
        append_address(R"(,"image_hash":)", launch.image_hash, out);
    }
    append_device(launch, out);
    append_all(R"(,"parameters":)", launch.parameters, append_parameter, out);
}

}  // namespace

std::string render_launch(const LaunchRecord& launch) {
    const bool is_op = launch.kind == LaunchKind::op;
    std::string out;
    append_member(R"({"format":)", kLaunchFormat, out);
    append_member(R"(,"version":)", kLaunchVersion, out);
    append_member(R"(,"kind":)", is_op ? "op" : "triton", out);
    append_member(R"(,"run":)", launch.run, out);
    append_member(R"(,"call":)", launch.call, out);
    append_member(R"(,"model":)", launch.model, out);
    append_member(R"(,"kernel":)", launch.kernel, out);
    if (is_op) append_member(R"(,"op":)", launch.op, out);
    if (!launch.statement.empty()) append_member(R"(,"statement":)", launch.statement, out);
    if (!is_op) append_kernel(launch, out);
    append_all(R"(,"arguments":)", launch.arguments, append_argument, out);
    append_all(R"(,"tensors":)", launch.tensors, append_tensor, out);
    out += "}\n";
    return out;
}

}  // namespace aoti_dbg
