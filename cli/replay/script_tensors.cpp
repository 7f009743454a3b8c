#include "cli/replay/script_tensors.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "cli/replay/tensor_span.hpp"
#include "serializer/event_jsonl.hpp"
#include "serializer/pt_reader.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// Kernels may rely on the alignment that their pointers had.
constexpr std::uint64_t kTensorAlignment = 64;

// What the script defines itself, and words of Python that may be names of weights.
constexpr std::string_view kReserved[] = {
    " torch io sys pathlib zipfile load packed restore bits check find_op arguments op result RECORDING ",
    " results results_are_equal lists kernels compiler source extern_kernels aten device inf nan ",
    " AsyncCompile kernel stream tuple slice print all len str sorted getattr in is ",
    " as or and not if for from with lambda pass class def ",
    " del global None True False assert async await break continue elif else ",
    " except finally import nonlocal raise return try while yield "};

std::string tuple_of(const std::vector<std::int64_t>& numbers) {
    std::string text = "(";
    for (const std::int64_t number : numbers)
        text += std::to_string(number) + ", ";
    if (numbers.size() > 1) text.erase(text.size() - 2);
    if (numbers.size() == 1) text.pop_back();
    return text + ")";
}

}  // namespace

std::string python_string(std::string_view text) {
    // Python reads a string of JSON as the same text.
    std::string quoted;
    append_json_string(text, quoted);
    return quoted;
}

ScriptTensors::ScriptTensors(const LaunchFile& file)
    : launch_(file.launch),
      files_(file.files),
      recording_(fs::weakly_canonical(files_->archive().empty()
                                          ? fs::path(file.path).parent_path().parent_path()
                                          : fs::path(files_->archive()))
                     .string()),
      tensors_(file.events, file.files) {
    find_pieces();
}

void ScriptTensors::find_pieces() {
    for (const LaunchTensor& tensor : launch_.tensors)
        pieces_.push_back({tensor.address, tensor.address + span_of(tensor.facts)});
    std::ranges::sort(pieces_, {}, &Piece::begin);
    std::vector<Piece> merged;
    for (const Piece& piece : pieces_) {
        const bool is_same = !merged.empty() && piece.begin == merged.back().begin;
        if (is_same || (!merged.empty() && piece.begin < merged.back().end))
            merged.back().end = std::max(merged.back().end, piece.end);
        else
            merged.push_back(piece);
    }
    pieces_ = std::move(merged);
}

const LaunchTensor* ScriptTensors::find(const std::string& label, std::uint32_t position) const {
    const auto found = std::ranges::find_if(launch_.tensors, [&](const LaunchTensor& tensor) {
        return tensor.label == label && tensor.position == position;
    });
    return found == launch_.tensors.end() ? nullptr : &*found;
}

std::size_t ScriptTensors::piece_of(const LaunchTensor& tensor) const {
    const auto after = std::ranges::upper_bound(pieces_, tensor.address, {}, &Piece::begin);
    return static_cast<std::size_t>(after - pieces_.begin()) - 1;
}

bool ScriptTensors::is_alone(const Taken& taken) const {
    return std::ranges::none_of(taken_, [&](const Taken& other) {
        return other.tensor != taken.tensor && piece_of(*other.tensor) == piece_of(*taken.tensor);
    });
}

std::string ScriptTensors::path_of(const std::string& label, std::uint32_t position, const TensorFacts* facts,
                                   EventSide side) {
    ArgumentFacts argument;
    argument.label = label;
    compare::RecordedTensor recorded;
    recorded.facts = &argument;
    recorded.tensor = facts;
    recorded.run = launch_.run;
    recorded.call = launch_.call;
    recorded.side = side;
    recorded.position = position;
    std::string path = tensors_.path_of(recorded);
    return !path.empty() && files_->open(path).ok() ? path : "";
}

std::string ScriptTensors::in_recording(const std::string& path) const {
    if (path.empty() || !files_->archive().empty()) return path;
    return fs::weakly_canonical(path).lexically_relative(recording_).string();
}

std::string ScriptTensors::file_after(const std::string& label, std::uint32_t position) {
    return in_recording(path_of(label, position, nullptr, EventSide::after));
}

/// Returns a name that Python accepts and no other tensor has.
std::string ScriptTensors::new_name(const std::string& label) const {
    std::string name;
    for (const char c : label)
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    const bool is_number = name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0;
    if (is_number || name.starts_with("memory")) name.insert(0, "t_");
    const auto is_used = [&] {
        const std::string word = " " + name + " ";
        return std::ranges::any_of(kReserved,
                                   [&](std::string_view line) { return line.find(word) != line.npos; }) ||
               std::ranges::any_of(taken_, [&](const Taken& taken) { return taken.variable == name; });
    };
    const std::string plain = name;
    for (int number = 2; is_used(); ++number)
        name = plain + "_" + std::to_string(number);
    return name;
}

Result<std::string> ScriptTensors::take(const std::string& label, std::uint32_t position) {
    const LaunchTensor* const tensor = find(label, position);
    if (tensor == nullptr)
        return Status::error(
            "its argument " + label +
            " is not a strided tensor (for example a weight packed by mkldnn), so it is not saved");
    const std::string path = path_of(label, position, &tensor->facts, EventSide::before);
    if (path.empty()) return Status::error("the contents of " + label + " before the call are not saved");
    const Result<FileContents> file = files_->open(path);
    if (!file.ok()) return file.status();
    const Result<PtView> saved = read_pt(file.value().bytes, PtCheck::all_but_checksums);
    if (!saved.ok())
        return Status::error("cannot read " + files_->shown(path) + ": " + saved.status().message());
    const PtView& view = saved.value();
    const TensorFacts& facts = tensor->facts;
    for (const Taken& known : taken_) {
        const TensorFacts& other = known.tensor->facts;
        const bool is_same = known.tensor->address == tensor->address && other.dtype == facts.dtype &&
                             other.sizes == facts.sizes && other.strides == facts.strides &&
                             known.bits == view.bits;
        if (is_same) return known.variable;
    }
    const bool is_as_saved = view.sizes == facts.sizes && view.strides == facts.strides;
    taken_.push_back(
        {tensor, new_name(label), in_recording(path), std::string(view.device), view.bits, is_as_saved});
    return taken_.back().variable;
}

bool ScriptTensors::needs_restore() const {
    return std::ranges::any_of(taken_,
                               [&](const Taken& taken) { return !taken.is_as_saved || !is_alone(taken); });
}

std::string ScriptTensors::line_of(const Taken& taken) const {
    const std::string file = python_string(taken.file);
    if (taken.is_as_saved && is_alone(taken)) return taken.variable + " = load(" + file + ")\n";
    const std::size_t piece = piece_of(*taken.tensor);
    const std::uint64_t begin = pieces_[piece].begin;
    const std::uint64_t offset = taken.tensor->address - begin + begin % kTensorAlignment;
    return taken.variable + " = restore(" + file + ", memory" + std::to_string(piece) + ", " +
           std::to_string(offset) + ", " + tuple_of(taken.tensor->facts.sizes) + ", " +
           tuple_of(taken.tensor->facts.strides) + ")\n";
}

std::string ScriptTensors::loaded() const {
    std::string text;
    std::set<std::size_t> allocated;
    for (const Taken& taken : taken_) {
        const std::size_t piece = piece_of(*taken.tensor);
        const bool is_plain = taken.is_as_saved && is_alone(taken);
        if (!is_plain && allocated.insert(piece).second)
            text += "memory" + std::to_string(piece) + " = torch.zeros(" +
                    std::to_string(pieces_[piece].end - pieces_[piece].begin +
                                   pieces_[piece].begin % kTensorAlignment) +
                    ", dtype=torch.uint8, device=" + python_string(taken.device) + ")\n";
        text += line_of(taken);
    }
    return text;
}

}  // namespace aoti_dbg::cli
