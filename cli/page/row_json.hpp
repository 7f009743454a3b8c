// Renders rows, their call sites and their details as parts of a page's JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/page/page_data.hpp"

namespace aoti_dbg::cli {

/// Numbers of the rows, layouts and kernels that the page has.
class RowJson {
  public:
    /// `chosen` are the rows, in their order.
    RowJson(const Page& page, std::vector<std::uint32_t> chosen);

    [[nodiscard]] const std::vector<std::uint32_t>& chosen() const { return chosen_; }
    /// Returns -1 if the page does not have the row.
    [[nodiscard]] std::int64_t number_of(std::uint32_t row) const {
        return row < numbers_.size() ? numbers_[row] : -1;
    }

    /// The columns of the rows, without `detail`. Whole members without braces.
    [[nodiscard]] std::string columns() const;
    /// The columns of the call sites.
    [[nodiscard]] std::string site_columns() const;
    /// The other members of a call site, empty if there are none.
    [[nodiscard]] std::string more_of_site(std::uint32_t site) const;
    /// Returns the number of a call site in the page.
    [[nodiscard]] std::uint32_t site_number(std::uint32_t site) const { return site_numbers_[site]; }
    [[nodiscard]] std::string detail(std::uint32_t row) const;
    [[nodiscard]] std::string series(std::uint32_t row) const;

  private:
    void append_tensors(std::string_view name, const std::vector<RowTensor>& tensors, std::string& out) const;
    void append_values(const PageRow& row, std::string& out) const;
    void append_links(std::uint32_t row, std::string& out) const;
    void append_files(std::uint32_t row, std::string& out) const;

    const Page& page_;
    std::vector<std::uint32_t> chosen_;
    std::vector<std::int64_t> numbers_;
    std::vector<std::uint32_t> sites_;         // that the rows refer to
    std::vector<std::uint32_t> site_numbers_;  // by site
};

}  // namespace aoti_dbg::cli
