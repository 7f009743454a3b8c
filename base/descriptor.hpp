// Owns a file descriptor and closes it on destruction. It must not know what the descriptor refers to.
#pragma once

#include <unistd.h>

namespace aoti_dbg {

class Descriptor {
  public:
    /// Takes ownership of `number`. A negative number means no descriptor.
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
