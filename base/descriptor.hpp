// A file descriptor that closes itself. Knows nothing of what it stands for.
#pragma once

#include <unistd.h>

namespace aoti_dbg {

class Descriptor {
  public:
    /// Takes `number` over; a negative one is none.
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int number() const { return number_; }

  private:
    int number_;
};

}  // namespace aoti_dbg
