// What is known of the tensors of a run after its calls so far: by label, and by bytes, because a view has a
// label of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>

#include "compare/pairing.hpp"

namespace aoti_dbg::compare {

class Memory {
  public:
    struct Bytes {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    /// Returns no bytes if they are not known.
    static Bytes bytes_of(const RecordedTensor& tensor);

    struct State {
        Agreement agreement = Agreement::unknown;
        std::uint32_t call = kNoCallNumber;  // that recorded it; kNoCallNumber: the run's inputs
        std::size_t order = 0;
        bool is_alone = false;  // a call wrote it that the other run does not have
        Spread spread = {};
    };

    void record(const TensorPair& pair, std::uint32_t call) {
        record(*pair.first, {pair.compared.agreement, call, 0, false, pair.compared.spread});
    }
    void record_alone(const RecordedTensor& tensor, std::uint32_t call) {
        record(tensor, {Agreement::unknown, call, 0, true});
    }
    /// A call may have changed it, and how is not recorded.
    void forget(const RecordedTensor& tensor) { record(tensor, {}); }

    [[nodiscard]] const State* of(const RecordedTensor& tensor) const;

    /// Whether a difference was written to this memory at or after `order`.
    [[nodiscard]] bool is_different_since(const RecordedTensor& tensor, std::size_t order) const;

    /// How far the tensor was apart when its memory was last recorded. Zero: it never was.
    [[nodiscard]] Spread spread_of(const RecordedTensor& tensor) const;

  private:
    /// What differs in some bytes.
    struct Piece {
        std::uint64_t end = 0;
        std::size_t order = 0;
        bool is_different = false;
        Spread spread;
    };
    /// By first byte. They do not overlap.
    using Pieces = std::map<std::uint64_t, Piece>;

    static bool is_dense(const RecordedTensor& tensor, const Bytes& bytes);
    void record(const RecordedTensor& tensor, State state);
    void cut_at(std::uint64_t byte);
    /// Replaces what is known of the bytes, or adds to it if the tensor does not cover all of them.
    void write(const Bytes& bytes, bool covers_all, const State& state);
    [[nodiscard]] Pieces::const_iterator first_within(const Bytes& bytes) const;

    std::unordered_map<std::string_view, State> by_label_;
    Pieces pieces_;
    std::size_t order_ = 0;
};

}  // namespace aoti_dbg::compare
