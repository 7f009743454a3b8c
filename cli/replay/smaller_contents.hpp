// Contents that are smaller than those of a saved tensor: one value for all elements, or zeros for most rows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/recording_files.hpp"
#include "cli/replay/minimize_search.hpp"
#include "serializer/pt_reader.hpp"

namespace aoti_dbg::cli {

class SavedContents {
  public:
    /// `file` is a `.pt` file.
    static Result<SavedContents> read(const FileContents& file);

    /// Returns the element that all others are equal to.
    [[nodiscard]] std::optional<std::vector<std::byte>> constant() const;
    /// Returns elements to try as a constant, each once: zero, the minimum, the maximum, the first one.
    [[nodiscard]] std::vector<std::vector<std::byte>> candidates() const;
    /// Returns the rows (dimension 0) that have other bits than zero; nothing if rows share memory.
    [[nodiscard]] Rows rows() const;
    [[nodiscard]] std::size_t row_count() const;

    /// Returns the `.pt` file of a tensor that has this element everywhere, expanded from one.
    [[nodiscard]] FileContents filled_with(const std::vector<std::byte>& element) const;
    /// Returns the `.pt` file with zeros for all other rows.
    [[nodiscard]] FileContents with_rows(const Rows& rows) const;
    /// Returns an element as people read it.
    [[nodiscard]] std::string text_of(const std::vector<std::byte>& element) const;

  private:
    [[nodiscard]] std::vector<std::byte> element(std::size_t index) const;
    [[nodiscard]] std::size_t size() const { return element_size(view_.dtype); }

    FileContents file_;
    PtView view_;
    std::vector<std::byte> elements_;  // in logical order
};

}  // namespace aoti_dbg::cli
