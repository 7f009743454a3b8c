#include "cli/growing_events.hpp"

#include <cstring>
#include <string_view>

namespace aoti_dbg::cli {
namespace {

// The reader treats the end of its source as the end of the file. This line, which is not an event, makes it
// return instead.
constexpr std::string_view kPause = "{\"event\":\"pause\"}\n";

}  // namespace

GrowingEvents::GrowingEvents(const std::string& path, ArgumentDetail detail)
    : lines_(path),
      reader_(
          [this](char* to, std::size_t bytes) {
              const std::size_t count = lines_.read(to, bytes);
              read_ += count;
              if (count != 0 || bytes < kPause.size()) return count;
              std::memcpy(to, kPause.data(), kPause.size());
              return kPause.size();
          },
          detail) {}

bool GrowingEvents::poll(bool is_final) {
    read_ = 0;
    lines_.poll(is_final);
    return lines_.has_lines();
}

bool GrowingEvents::next(ReadEvent& event) {
    return reader_.next(event) && event.type != "pause";
}

}  // namespace aoti_dbg::cli
