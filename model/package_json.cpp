#include "model/package_json.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace aoti_dbg {
namespace {

/// Passes each value with its path: keys and positions from the root. Skips what is deeper than kDepth.
class JsonWalk : public nlohmann::json_sax<nlohmann::json> {
  public:
    static constexpr std::size_t kDepth = 12;

    /// `key` is empty for an element of a list, `at` is 0 for a member of an object.
    struct Step {
        std::string key;
        std::size_t at = 0;
    };
    using Path = std::vector<Step>;
    using See = std::function<void(const Path&, const std::string& value)>;

    JsonWalk(Keeper& keeper, See see) : keeper_(keeper), see_(std::move(see)) {}

    bool null() override { return value({}); }
    bool boolean(bool is) override { return value(is ? "true" : "false"); }
    bool number_integer(number_integer_t number) override { return value(std::to_string(number)); }
    bool number_unsigned(number_unsigned_t number) override { return value(std::to_string(number)); }
    bool number_float(number_float_t, const string_t& text) override { return value(text); }
    bool string(string_t& text) override { return value(text); }
    bool binary(binary_t&) override { return value({}); }
    bool start_object(std::size_t) override { return open(); }
    bool start_array(std::size_t) override { return open(); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        if (depth_ <= kDepth) path_.back().key = keeper_.keep(name);
        return !keeper_.is_exhausted();
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
        return false;
    }

  private:
    bool value(const std::string& text) {
        ++keeper_.steps;
        if (depth_ <= kDepth) see_(path_, text);
        if (depth_ > 0 && depth_ <= kDepth) ++path_.back().at;
        return !keeper_.is_exhausted();
    }
    bool open() {
        ++keeper_.steps;
        if (++depth_ <= kDepth) path_.emplace_back();
        return true;
    }
    bool close() {
        if (depth_-- <= kDepth) path_.pop_back();
        if (depth_ > 0 && depth_ <= kDepth) ++path_.back().at;
        return true;
    }

    Keeper& keeper_;
    See see_;
    Path path_;
    std::size_t depth_ = 0;
};

void walk(std::string_view json, Keeper& keeper, const JsonWalk::See& see) {
    if (json.empty()) return;
    JsonWalk reader(keeper, see);
    (void)nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
}

}  // namespace

namespace {

/// A stack is kept whole or not at all, because its last line is the one that matters.
void add_stack(const std::string& stack, Keeper& keeper, KernelOrigin& origin) {
    constexpr std::size_t kLongestStack = std::size_t{1} << 16U;
    if (stack.size() <= kLongestStack) origin.stack_traces.push_back(keeper.keep(stack, kLongestStack));
}

void add_once(const std::string& text, std::vector<std::string>& texts) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

}  // namespace

std::vector<ExternNode> read_extern_nodes(std::string_view json, Keeper& keeper) {
    std::vector<ExternNode> nodes;
    // The path of a tensor's name is nodes / N / node / inputs / M / arg / as_tensor / name.
    walk(json, keeper, [&](const JsonWalk::Path& path, const std::string& value) {
        if (path.size() < 4 || path[0].key != "nodes" || path[2].key != "node") return;
        const std::size_t at = path[1].at;
        if (!keeper.allows(at, kMaxPositions)) return;
        if (nodes.size() <= at) nodes.resize(at + 1);
        ExternNode& node = nodes[at];
        if (path.size() == 4 && path[3].key == "target") node.target = keeper.keep(value);
        const bool is_tensor_name =
            path.back().key == "name" && path.size() >= 2 &&
            (path[path.size() - 2].key == "as_tensor" || path[path.size() - 3].key == "as_tensors");
        if (path[3].key == "outputs" && is_tensor_name) ++node.outputs;
        if (path[3].key != "inputs" || path.size() < 6) return;
        const std::size_t input = path[4].at;
        if (!keeper.allows(input, kMaxPositions)) return;
        if (node.inputs.size() <= input) {
            if (!keeper.allows_entries(input + 1 - node.inputs.size())) return;
            node.inputs.resize(input + 1);
        }
        if (path.size() == 6 && path[5].key == "name") node.inputs[input].name = keeper.keep(value);
        if (path[5].key != "arg") return;
        static constexpr std::string_view kPassed[] = {"as_int", "as_ints", "as_sym_int", "as_sym_ints"};
        if (path.size() > 6 && node.inputs[input].type.empty())
            node.inputs[input].type = keeper.keep(path[6].key);
        if (path.size() > 6 && std::ranges::find(kPassed, path[6].key) != std::end(kPassed))
            ++node.inputs[input].integers;
        const bool is_optional = path.size() > 8 && path[6].key == "as_optional_tensors";
        const bool is_listed = is_optional && (is_tensor_name || path[8].key == "as_none");
        if (std::string& text = node.inputs[input].value; is_listed && text.size() < kMaxText)
            text.append(text.empty() ? "" : ", ").append(is_tensor_name ? "tensor" : "None");
        if (is_tensor_name) {
            ++node.inputs[input].tensors;
        } else if (path.size() == 7 && path[6].key != "as_none") {
            node.inputs[input].value = keeper.keep(value);
        } else if (path.size() == 8 && path[7].key.empty()) {  // a list, such as as_ints
            std::string& text = node.inputs[input].value;
            if (text.size() < kMaxText) text += (text.empty() ? "" : ", ") + keeper.keep(value);
        }
    });
    return nodes;
}

std::map<std::string, KernelOrigin, std::less<>> read_kernel_information(std::string_view json,
                                                                         Keeper& keeper) {
    std::map<std::string, KernelOrigin, std::less<>> origins;
    walk(json, keeper, [&](const JsonWalk::Path& path, const std::string& value) {
        if (path.size() != 3 || !keeper.allows_entry()) return;
        KernelOrigin& origin = origins[path[0].key];
        if (path[1].key == "stack_traces") add_stack(value, keeper, origin);
        if (path[1].key == "post_grad_nodes") origin.post_grad_nodes.push_back(keeper.keep(value));
        if (path[1].key == "pre_grad_nodes") origin.pre_grad_nodes.push_back(keeper.keep(value));
    });
    return origins;
}

TraceEntry read_trace_entry(std::string_view json) {
    Keeper keeper;
    TraceEntry entry;
    walk(json, keeper, [&](const JsonWalk::Path& path, const std::string& value) {
        const std::string& key = path.empty() ? value : path[0].key;
        if (path.size() == 2 && path[1].key == "name" && (key == "artifact" || key == "graph_dump"))
            entry.name = value;
        if (key == "inductor_output_code" || (path.size() == 1 && key == "inductor_post_grad_graph"))
            entry.name = key;
        if (path.size() == 1 && (key == "frame_id" || key == "frame_compile_id" || key == "attempt"))
            entry.frame += key + " " + value + " ";
    });
    return entry;
}

void read_node_mappings(std::string_view json, KernelOrigins& origins) {
    Keeper keeper;
    std::map<std::string, std::vector<std::string>> before;  // nodes of the pre-grad graph, by those after it
    walk(json, keeper, [&](const JsonWalk::Path& path, const std::string& value) {
        if (path.size() != 3 || !keeper.allows_entry()) return;
        if (path[0].key == "cppCodeToPost")
            origins[path[1].key].post_grad_nodes.push_back(keeper.keep(value));
        if (path[0].key == "postToPre") before[path[1].key].push_back(keeper.keep(value));
    });
    for (auto& [kernel, origin] : origins)
        for (const std::string& node : origin.post_grad_nodes)
            if (const auto found = before.find(node); found != before.end())
                for (const std::string& name : found->second)
                    add_once(name, origin.pre_grad_nodes);
}

void read_kernel_stacks(std::string_view json, KernelOrigins& origins) {
    Keeper keeper;
    walk(json, keeper, [&](const JsonWalk::Path& path, const std::string& value) {
        if (path.size() == 2 && keeper.allows_entry()) add_stack(value, keeper, origins[path[0].key]);
    });
}

}  // namespace aoti_dbg
