// Numbers as C++ streams write them, whatever the program's locale: PyTorch's printer uses std::cout.
#pragma once

#include <string>

namespace aoti_dbg {

/// Six significant digits, as %g.
std::string number_text(double value);

/// With so many digits after the point: as %.4f, as %.4e.
std::string fixed_text(double value, int digits);
std::string scientific_text(double value, int digits);

/// As few digits as tell it from every other double; without an exponent from 1e-4 to 1e16.
std::string shortest_text(double value);

}  // namespace aoti_dbg
