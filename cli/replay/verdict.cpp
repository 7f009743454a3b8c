#include "cli/replay/verdict.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/clean_text.hpp"
#include "cli/replay/child.hpp"
#include "cli/replay/outcomes.hpp"
#include "cli/replay/replays.hpp"
#include "serializer/element_value.hpp"

namespace aoti_dbg::cli {
namespace {

using Text = std::array<char, 1024>;

constexpr int kTrialsOfRace = 4;

void copy(const std::string& from, Text& to) {
    const std::size_t bytes = std::min(from.size(), to.size() - 1);
    std::memcpy(to.data(), from.data(), bytes);
    to[bytes] = '\0';
}

/// What a child found, in memory that it shares with its parent.
struct Answer {
    bool is_failed = false;
    Symptom symptom = Symptom::nothing;
    int result = 0;
    std::uint32_t pass = 0;
    Text place{};
    Text words{};  // of the failure, too

    void set(const Verdict& verdict) {
        symptom = verdict.symptom;
        result = verdict.result;
        copy(verdict.place, place);
        copy(verdict.words, words);
    }
    [[nodiscard]] Verdict verdict() const { return {symptom, result, place.data(), words.data()}; }
};

bool is_finite(const std::byte* element, DType dtype) {
    const DType part = part_dtype(dtype);
    for (std::uint32_t i = 0; i < numbers_in_element(dtype); ++i) {
        const double value = element_value(part, element + std::size_t{i} * element_size(part));
        if (value - value != 0) return false;
    }
    return true;
}

/// True if the launch wrote NaN or Inf where there was something else before.
Result<bool> writes_nonfinite(Launched& launched, const LaunchTensor& tensor) {
    const DType dtype = tensor.facts.measured_dtype;
    if (is_always_finite(dtype)) return false;
    const Result<std::vector<std::byte>> found = launched.elements(tensor);
    if (!found.ok()) return found.status();
    const std::optional<compare::SavedElements> before = launched.saved(tensor, EventSide::before);
    const std::size_t size = element_size(dtype);
    for (std::size_t at = 0; at < found.value().size(); at += size) {
        const std::byte* const element = found.value().data() + at;
        const bool is_kept = before && std::memcmp(element, before->bytes.data() + at, size) == 0;
        if (!is_kept && !is_finite(element, dtype)) return true;
    }
    return false;
}

/// Poisoned results compare with those of a launch without poison.
std::vector<LaunchedOptions> passes_to_judge(const ReplayRequest& request) {
    std::vector<LaunchedOptions> passes = passes_of(request);
    if (request.is_guarded && request.poison) passes.insert(passes.begin(), LaunchedOptions{});
    return passes;
}

/// Replays one launch within this process.
class Replayed {
  public:
    Replayed(const ReplayRequest& request, const LaunchFile& file, Driver& driver)
        : request_(request), file_(file), driver_(driver), tensors_(file.events, file.files) {}

    Result<Verdict> judge(std::uint32_t& pass) {
        Verdict nonfinite;
        const std::vector<LaunchedOptions> passes = passes_to_judge(request_);
        for (pass = 0; pass < passes.size(); ++pass) {
            LaunchedOptions options = passes[pass];
            if (options.poison) options.unpoisoned = &unpoisoned_;
            Result<Verdict> verdict = judge_pass(options);
            if (!verdict.ok()) return verdict;
            if (verdict.value().symptom == Symptom::not_finite)
                nonfinite = verdict.value();
            else if (verdict.value().symptom != Symptom::nothing)
                return verdict;
        }
        return nonfinite;
    }

  private:
    Result<Verdict> judge_pass(const LaunchedOptions& options) {
        Launched launched(driver_, file_, tensors_, options);
        if (Status prepared = launched.prepare(); !prepared.ok()) return prepared;
        Outcomes outcomes;
        for (std::uint32_t i = 0; i < request_.times; ++i) {
            if (const Status ran = launched.run(); !ran.ok())
                return Verdict{Symptom::fault, ran.error_number(), {}, ran.message()};
            std::uint64_t hash = 0;
            Result<std::vector<ReplayedTensor>> results = launched.results(hash);
            if (!results.ok()) return results.status();
            outcomes.add(hash, std::move(results.value()));
        }
        if (!outcomes.is_stable()) return Verdict{Symptom::unstable, 0, {}, {}};
        for (const ReplayedTensor& tensor : outcomes.first())
            if (tensor.different.value_or(0) != 0)
                return Verdict{options.poison ? Symptom::unwritten : Symptom::different, 0, tensor.label, {}};
        if (options.poison) return Verdict();
        if (!request_.poison) return judge_values(launched);
        Result<LaunchResults> results = launched.unrecorded();
        if (!results.ok()) return results.status();
        unpoisoned_ = std::move(results.value());
        return judge_values(launched);
    }

    Result<Verdict> judge_values(Launched& launched) {
        for (const LaunchTensor& tensor : file_.launch.tensors) {
            const Result<bool> nonfinite = writes_nonfinite(launched, tensor);
            if (!nonfinite.ok()) return nonfinite.status();
            if (nonfinite.value()) return Verdict{Symptom::not_finite, 0, tensor.label, {}};
        }
        return Verdict();
    }

    const ReplayRequest& request_;
    const LaunchFile& file_;
    Driver& driver_;
    TensorFiles tensors_;
    LaunchResults unpoisoned_;
};

int judge_here(const ReplayRequest& request, const LaunchFile& file, Answer& answer) {
    const auto failed = [&answer](const Status& status) {
        answer.is_failed = true;
        copy(status.message(), answer.words);
        return 0;
    };
    const Result<std::unique_ptr<Driver>> driver = Driver::open();
    if (!driver.ok()) return failed(driver.status());
    if (const Status loaded = load_code(*driver.value(), request, file); !loaded.ok()) return failed(loaded);
    const Result<Verdict> verdict = Replayed(request, file, *driver.value()).judge(answer.pass);
    if (!verdict.ok()) return failed(verdict.status());
    answer.set(verdict.value());
    return 0;
}

}  // namespace

std::string words_of(const Verdict& verdict) {
    const std::string place = clean_text(verdict.place);
    switch (verdict.symptom) {
        case Symptom::fault:
            return verdict.words + (place.empty() ? "" : ", at " + place);
        case Symptom::unwritten:
            return "reads uninitialized memory, which shows in " + place;
        case Symptom::unstable:
            return "not the same each time";
        case Symptom::not_finite:
            return "writes NaN or Inf to " + place;
        case Symptom::different:
            return "different";
        default:
            return "nothing to keep";
    }
}

Result<Verdict> Judge::judge_once(const LaunchFile& file, bool wants_line) {
    static const auto answer = shared_with_children<Answer>();
    if (answer == nullptr) return Status::error("cannot allocate memory to share with a child process");
    *answer = {};
    Result<int> code = run_in_child([&] {
        std::signal(SIGALRM, SIG_DFL);
        alarm(static_cast<unsigned>(deadline_.count()));
        return judge_here(request_, file, *answer);
    });
    if (!code.ok()) return code.status();
    if (answer->is_failed) return Status::error(answer->words.data());
    if (!wants_line || answer->symptom != Symptom::fault) return answer->verdict();
    code = run_in_child([&] {
        std::signal(SIGALRM, SIG_DFL);
        alarm(static_cast<unsigned>(deadline_.count()));
        copy(dumped_fault(request_, file, passes_to_judge(request_)[answer->pass]).place, answer->place);
        return 0;
    });
    return answer->verdict();
}

Result<Verdict> Judge::judge(const LaunchFile& file) {
    const auto begin = std::chrono::steady_clock::now();
    Result<Verdict> verdict = judge_once(file, true);
    const auto took = std::chrono::steady_clock::now() - begin;
    if (deadline_.count() == 0)
        deadline_ = std::chrono::seconds(10) + 10 * std::chrono::duration_cast<std::chrono::seconds>(took);
    return verdict;
}

bool Judge::shows(const LaunchFile& file, const Verdict& expected) {
    const bool wants_line = expected.symptom == Symptom::fault && !expected.place.empty();
    const Result<Verdict> verdict = judge_once(file, wants_line);
    return verdict.ok() && verdict.value() == expected;
}

bool Judge::has(const LaunchFile& file, const Verdict& expected) {
    const int trials = expected.symptom == Symptom::unstable ? kTrialsOfRace : 1;
    for (int i = 0; i < trials; ++i)
        if (!shows(file, expected)) return false;
    return true;
}

bool Judge::can_have(const LaunchFile& file, const Verdict& expected) {
    const int trials = expected.symptom == Symptom::unstable ? kTrialsOfRace : 1;
    for (int i = 0; i < trials; ++i)
        if (shows(file, expected)) return true;
    return false;
}

}  // namespace aoti_dbg::cli
