// How `aoti-dbg diff` prints the difference of two tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compare/agreement.hpp"

namespace aoti_dbg::cli {

/// Groups the digits: 1,312.
std::string grouped(std::uint64_t number);
std::string counted(std::uint64_t number, const char* what);

/// A name of the program, made printable.
std::string shown(const std::string& name);

/// Returns the name of a weight as the program knows it.
std::string name_of(const compare::RecordedTensor& tensor);

/// Says in whole lines how both differ, as precisely as the recordings allow.
std::string difference_text(const compare::RecordedTensor& first, const compare::RecordedTensor& second,
                            compare::Grade grade,
                            const std::shared_ptr<const compare::ElementDifference>& elements);

/// Says by how much a spread is beyond what is allowed. Empty if it is not, or infinitely.
std::string spread_text(const compare::Spread& found, const compare::Spread& allowed);

}  // namespace aoti_dbg::cli
