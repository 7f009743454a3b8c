#include "compare/memory.hpp"

#include <algorithm>
#include <iterator>

namespace aoti_dbg::compare {

Memory::Bytes Memory::bytes_of(const RecordedTensor& tensor) {
    if (tensor.tensor == nullptr || tensor.address == 0 || !tensor.tensor->sizes_known) return {};
    const TensorFacts& facts = *tensor.tensor;
    // A damaged recording has any numbers.
    const auto bytes = static_cast<std::int64_t>(element_size(facts.measured_dtype));
    std::int64_t end = bytes;
    for (std::size_t i = 0; i < facts.sizes.size() && i < facts.strides.size(); ++i) {
        std::int64_t step = 0;
        if (facts.sizes[i] <= 0 || facts.strides[i] < 0) return {};
        if (__builtin_mul_overflow(facts.sizes[i] - 1, facts.strides[i], &step) ||
            __builtin_mul_overflow(step, bytes, &step) || __builtin_add_overflow(end, step, &end))
            return {};
    }
    std::uint64_t last = 0;
    if (__builtin_add_overflow(tensor.address, static_cast<std::uint64_t>(end), &last)) return {};
    return {tensor.address, last};
}

/// Whether the tensor covers all bytes between its first and its last.
bool Memory::is_dense(const RecordedTensor& tensor, const Bytes& bytes) {
    return element_count(tensor.tensor->sizes) * element_size(tensor.tensor->measured_dtype) ==
           bytes.end - bytes.begin;
}

void Memory::record(const RecordedTensor& tensor, State state) {
    if (tensor.tensor == nullptr) return;
    state.order = ++order_;
    by_label_[tensor.facts->label] = state;
    const Bytes bytes = bytes_of(tensor);
    if (bytes.begin != bytes.end) write(bytes, is_dense(tensor, bytes), state);
}

const Memory::State* Memory::of(const RecordedTensor& tensor) const {
    const auto found = by_label_.find(tensor.facts->label);
    return found == by_label_.end() ? nullptr : &found->second;
}

bool Memory::is_different_since(const RecordedTensor& tensor, std::size_t order) const {
    const Bytes bytes = bytes_of(tensor);
    for (auto piece = first_within(bytes); piece != pieces_.end() && piece->first < bytes.end; ++piece)
        if (piece->second.is_different && piece->second.order >= order) return true;
    return false;
}

Spread Memory::spread_of(const RecordedTensor& tensor) const {
    const State* const state = of(tensor);
    Spread spread = state == nullptr ? Spread{} : state->spread;
    const Bytes bytes = bytes_of(tensor);
    for (auto piece = first_within(bytes); piece != pieces_.end() && piece->first < bytes.end; ++piece)
        spread = wider(spread, piece->second.spread);
    return spread;
}

Memory::Pieces::const_iterator Memory::first_within(const Bytes& bytes) const {
    if (bytes.begin == bytes.end) return pieces_.end();
    auto piece = pieces_.upper_bound(bytes.begin);
    if (piece != pieces_.begin() && std::prev(piece)->second.end > bytes.begin) --piece;
    return piece;
}

void Memory::cut_at(std::uint64_t byte) {
    auto piece = pieces_.upper_bound(byte);
    if (piece == pieces_.begin()) return;
    --piece;
    if (piece->first == byte || piece->second.end <= byte) return;
    pieces_.emplace_hint(std::next(piece), byte, piece->second);
    piece->second.end = byte;
}

void Memory::write(const Bytes& bytes, bool covers_all, const State& state) {
    Piece piece{bytes.end, state.order, state.agreement == Agreement::different, state.spread};
    const bool differs =
        piece.is_different || state.agreement == Agreement::close ||
        (state.agreement == Agreement::not_seen && piece.spread.shift + piece.spread.range > 0);
    if (!differs && !covers_all) return;
    cut_at(bytes.begin);
    cut_at(bytes.end);
    const auto first = pieces_.lower_bound(bytes.begin);
    const auto end = pieces_.lower_bound(bytes.end);
    for (auto old = first; old != end && !covers_all; ++old) {
        piece.is_different = piece.is_different || old->second.is_different;
        piece.spread = wider(piece.spread, old->second.spread);
    }
    pieces_.erase(first, end);
    if (differs) pieces_.emplace(bytes.begin, piece);
}

}  // namespace aoti_dbg::compare
