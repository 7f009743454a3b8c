// Messages of threads that cannot print: each appears once, in order, and a full pipe loses none.
#include "shim/save/held_messages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "tests/support/catch.hpp"

namespace aoti_dbg::held_messages_test {
namespace {

/// Makes standard error a pipe for its lifetime.
class PipedError {
  public:
    PipedError() : kept_(dup(STDERR_FILENO)) {
        REQUIRE(pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
        dup2(ends_[1], STDERR_FILENO);
    }
    ~PipedError() {
        dup2(kept_, STDERR_FILENO);
        for (const int descriptor : {kept_, ends_[0], ends_[1]})
            close(descriptor);
    }
    PipedError(const PipedError&) = delete;
    PipedError& operator=(const PipedError&) = delete;

    /// Fills the pipe, so that the next message waits for a reader.
    void fill() {
        const std::array<char, 4096> bytes{};
        while (write(ends_[1], bytes.data(), bytes.size()) > 0) {
        }
        fcntl(ends_[1], F_SETFL, 0);
    }
    /// Returns what was printed since the last call.
    std::string read_all() {
        std::string text;
        std::array<char, 4096> bytes{};
        for (ssize_t count = 0; (count = read(ends_[0], bytes.data(), bytes.size())) > 0;)
            text.append(bytes.data(), static_cast<std::size_t>(count));
        return text;
    }

  private:
    int kept_;
    std::array<int, 2> ends_{};
};

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

}  // namespace

TEST_CASE("Held messages appear once and in order, when a thread prints them") {
    PipedError error;
    HeldMessages messages;
    messages.print();
    std::thread([&messages] {
        messages.say(Severity::warn, "first");
        messages.say(Severity::info, "second");
    }).join();
    CHECK(error.read_all().empty());
    messages.print();
    messages.print();
    const std::string printed = error.read_all();
    CHECK(count(printed, "\n") == 2);
    CHECK(printed.find("warn: first\n") < printed.find("info: second\n"));
    messages.say(Severity::warn, "third");
    messages.print();
    CHECK(count(error.read_all(), "warn: third\n") == 1);
}

TEST_CASE("More messages than there is room for are dropped") {
    PipedError error;
    HeldMessages messages;
    for (int i = 0; i < 20; ++i)
        messages.say(Severity::warn, "said");
    messages.print();
    CHECK(count(error.read_all(), "said") == 16);
}

TEST_CASE("A message that another thread is printing is complete when a later print returns") {
    PipedError error;
    error.fill();
    HeldMessages messages;
    messages.say(Severity::warn, "said");
    std::thread printer([&messages] { messages.print(); });
    usleep(50'000);  // by now it usually blocks on the pipe
    std::string printed;
    std::thread reader([&] {
        usleep(50'000);
        printed = error.read_all();
    });
    messages.print();
    reader.join();
    printer.join();
    printed += error.read_all();
    CHECK(count(printed, "warn: said\n") == 1);
}

}  // namespace aoti_dbg::held_messages_test
