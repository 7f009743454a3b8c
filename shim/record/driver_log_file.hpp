// Writes the driver's log (serializer/driver_log_format.hpp): one file per process. add() runs in the
// driver's callback, on any thread, so it takes no lock, allocates nothing and makes no system call besides
// asking for the thread's number.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "serializer/driver_log_format.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

class DriverLogFile {
  public:
    static Result<std::unique_ptr<DriverLogFile>> create(const std::string& path);

    /// Keeps the line, or counts it as lost if another thread writes to its place.
    void add(driver_log::Level level, const char* text, std::size_t bytes);

    /// Removes the file if the driver logged nothing.
    void remove_if_empty();

  private:
    DriverLogFile(PreallocatedFile file, char* mapped);
    [[nodiscard]] driver_log::FileHeader& header() const;
    [[nodiscard]] driver_log::Line& line(std::size_t place) const;

    PreallocatedFile file_;
    char* mapped_;
    std::array<std::atomic_flag, driver_log::kFirst + driver_log::kLast> is_busy_{};
};

}  // namespace aoti_dbg
