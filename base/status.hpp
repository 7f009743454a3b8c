// Errors as values: a Status says what failed, on what, and why. A Result carries a value or a Status.
// Nothing here throws, logs or aborts. Callers decide what a failure means.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace aoti_dbg {

class [[nodiscard]] Status {
  public:
    Status() = default;

    /// `message` is one line without a full stop: what failed, on what, why.
    /// `error_number` is the errno value of the failure, or 0 if there is none.
    static Status error(std::string message, int error_number = 0) {
        Status status;
        status.failed_ = true;
        status.error_number_ = error_number;
        status.message_ = std::move(message);
        return status;
    }

    [[nodiscard]] bool ok() const { return !failed_; }
    [[nodiscard]] const std::string& message() const { return message_; }
    [[nodiscard]] int error_number() const { return error_number_; }

  private:
    bool failed_ = false;
    int error_number_ = 0;
    std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : content_(std::move(value)) {}  // NOLINT(google-explicit-constructor): reads as a return
    Result(Status status) : content_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool ok() const { return std::holds_alternative<T>(content_); }
    [[nodiscard]] T& value() { return std::get<T>(content_); }
    [[nodiscard]] const T& value() const { return std::get<T>(content_); }
    /// Call this only on a failed result.
    [[nodiscard]] const Status& status() const { return std::get<Status>(content_); }

  private:
    std::variant<T, Status> content_;
};

}  // namespace aoti_dbg
