// Only the command links it. See launch_record.hpp.
#include <cstring>

#include "base/proc_text.hpp"
#include "serializer/event_fields.hpp"
#include "serializer/json_line.hpp"
#include "serializer/launch_record.hpp"

namespace aoti_dbg {
namespace {

bool read_triple(JsonLine::Value list, std::array<std::uint32_t, 3>& to) {
    JsonLine::Value value = list.first();
    for (std::uint32_t& number : to) {
        if (!read_integer(value, number)) return false;
        value = value.next();
    }
    return !value;
}

bool read_bytes(JsonLine::Value value, std::vector<std::byte>& to) {
    const std::string_view text = value.text();
    if (!value.is(JsonLine::Kind::string) || text.size() % 2 != 0) return false;
    for (std::size_t at = 0; at < text.size(); at += 2) {
        std::uint64_t byte = 0;
        if (!hexadecimal(text.substr(at, 2), byte)) return false;
        to.push_back(static_cast<std::byte>(byte));
    }
    return true;
}

/// True if an area of memory ends before the last address.
bool has_end(std::uint64_t address, std::uint64_t bytes) {
    return !__builtin_add_overflow(address, bytes, &bytes);
}

/// Returns whether readers can compute the memory of the tensor without an overflow.
bool is_in_memory(const LaunchTensor& tensor) {
    const TensorFacts& facts = tensor.facts;
    std::uint64_t elements = 1;  // from the first to the last
    bool overflows = false;
    for (std::size_t d = 0; d < facts.sizes.size(); ++d) {
        if (facts.strides[d] < 0) return false;
        if (facts.sizes[d] == 0) continue;
        std::uint64_t reach = 0;
        overflows |= __builtin_mul_overflow(static_cast<std::uint64_t>(facts.sizes[d] - 1),
                                            static_cast<std::uint64_t>(facts.strides[d]), &reach);
        overflows |= __builtin_add_overflow(elements, reach, &elements);
    }
    overflows |= __builtin_mul_overflow(elements, element_size(facts.measured_dtype), &elements);
    return !overflows && has_end(tensor.address, elements);
}

/// Returns whether what a pointer reaches ends before the last address.
bool is_in_memory(const LaunchParameter& parameter) {
    std::uint64_t address = 0;
    if (parameter.bytes.size() == sizeof address)
        std::memcpy(&address, parameter.bytes.data(), sizeof address);
    return has_end(address, parameter.reachable);
}

bool read_parameters(JsonLine::Value list, std::vector<LaunchParameter>& to) {
    for (JsonLine::Value value = list.first(); value; value = value.next()) {
        LaunchParameter& parameter = to.emplace_back();
        if (!read_integer(value.member("offset"), parameter.offset)) return false;
        if (!read_bytes(value.member("bytes"), parameter.bytes)) return false;
        parameter.tensor = string_of(value.member("tensor"));
        read_integer(value.member("reachable"), parameter.reachable);
        if (!is_in_memory(parameter)) return false;
    }
    return list.is(JsonLine::Kind::array);
}

bool read_tensors(JsonLine::Value list, std::vector<LaunchTensor>& to) {
    for (JsonLine::Value value = list.first(); value; value = value.next()) {
        LaunchTensor& tensor = to.emplace_back();
        tensor.label = string_of(value.member("label"));
        read_integer(value.member("position"), tensor.position);
        read_address(value.member("address"), tensor.address);
        read_tensor(value, tensor.facts);
        tensor.is_unwritten = value.member("unwritten").text() == "true";
        const bool is_whole = !tensor.label.empty() && tensor.facts.sizes_known &&
                              tensor.facts.sizes.size() == tensor.facts.strides.size();
        if (!is_whole || !is_in_memory(tensor)) return false;
    }
    return list.is(JsonLine::Kind::array);
}

bool read_arguments(JsonLine::Value list, std::vector<LaunchArgument>& to) {
    for (JsonLine::Value value = list.first(); value; value = value.next()) {
        LaunchArgument& argument = to.emplace_back();
        argument.parameter = string_of(value.member("parameter"));
        if (!read_integer(value.member("position"), argument.position)) return false;
        argument.role = role_of(value.member("role").text());
        const JsonLine::Value labels = value.member("labels");
        argument.is_list = labels.is(JsonLine::Kind::array);
        for (JsonLine::Value label = labels.first(); label; label = label.next())
            argument.labels.push_back(string_of(label));
        if (argument.is_list) continue;
        const std::string label = string_of(value.member("label"));
        if (!label.empty())
            argument.labels.push_back(label);
        else
            argument.value = string_of(value.member("value"));
    }
    return list.is(JsonLine::Kind::array);
}

/// Reads what only a kernel has. Returns the word for what is wrong, or null.
const char* read_kernel(JsonLine::Value root, LaunchRecord& to) {
    to.function = string_of(root.member("function"));
    if (to.function.empty()) return "function";
    if (!read_triple(root.member("grid"), to.grid)) return "grid";
    if (!read_triple(root.member("block"), to.block)) return "block";
    if (root.member("cluster") && !read_triple(root.member("cluster"), to.cluster)) return "cluster";
    read_integer(root.member("shared_bytes"), to.shared_bytes);
    to.is_cooperative = root.member("cooperative").text() == "true";
    to.image = string_of(root.member("image"));
    read_address(root.member("image_hash"), to.image_hash);
    to.device = string_of(root.member("device"));
    read_integer(root.member("compute_capability"), to.compute_capability);
    read_integer(root.member("driver"), to.driver);
    return read_parameters(root.member("parameters"), to.parameters) ? nullptr : "parameters";
}

/// Returns the word for what is wrong, or null. Version 1 has kernels without arguments.
const char* read_members(JsonLine::Value root, LaunchRecord& to) {
    read_integer(root.member("run"), to.run);
    read_integer(root.member("call"), to.call);
    read_integer(root.member("model"), to.model);
    to.kernel = string_of(root.member("kernel"));
    to.op = string_of(root.member("op"));
    to.statement = string_of(root.member("statement"));
    if (root.member("kind").text() == "op") to.kind = LaunchKind::op;
    if (to.kind == LaunchKind::op && to.op.empty()) return "op";
    if (to.kind == LaunchKind::triton)
        if (const char* const wrong = read_kernel(root, to); wrong != nullptr) return wrong;
    const JsonLine::Value arguments = root.member("arguments");
    if (arguments && !read_arguments(arguments, to.arguments)) return "arguments";
    return read_tensors(root.member("tensors"), to.tensors) ? nullptr : "tensors";
}

}  // namespace

Result<LaunchRecord> read_launch(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\0'))
        text.remove_suffix(1);
    JsonLine line;
    if (!line.parse(text)) return Status::error("it is not JSON");
    const JsonLine::Value root = line.root();
    if (root.member("format").text() != kLaunchFormat) return Status::error("it is no record of a launch");
    std::uint32_t version = 0;
    if (!read_integer(root.member("version"), version) || version > kLaunchVersion)
        return Status::error("it is of a newer version of aoti-dbg. Update aoti-dbg");
    LaunchRecord launch;
    if (const char* const missing = read_members(root, launch); missing != nullptr)
        return Status::error(std::string("its member \"") + missing + "\" is missing or damaged");
    return launch;
}

}  // namespace aoti_dbg
