// Saves the tensors before or after one call. It copies those in host memory at once. For those on a device,
// it uses as few launches as possible on the call's own stream.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shim/save/saving.hpp"
#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

class SavedSide {
  public:
    /// Identifies the call and the side, and where the call takes place.
    struct Of {
        EventSide side = EventSide::before;
        std::uint32_t model = ~0U;
        std::uint32_t run = ~0U;
        std::uint32_t call = kNoCallNumber;
        std::uint64_t sequence = 0;
        std::string_view kernel;
        CUstream stream = nullptr;
        CUcontext context = nullptr;  // null for the calling thread's context
    };
    SavedSide(Saving& saving, const Of& of) : saving_(saving), of_(of) {}

    /// May wait while the staging buffer or the queue is full, depending on the options.
    void add(const PlannedArgument& argument, const SeenTensor& tensor);
    /// Starts the transfer of everything that was added.
    void send();

    /// Returns whether tensors were left out because the device is unusable or the stream is being captured.
    [[nodiscard]] bool lacks_device() const { return lacks_device_; }

  private:
    struct Part {
        std::uint64_t begin = 0;  // in the tensor
        std::uint64_t bytes = 0;
        bool is_copied = true;  // false if only hashed
        bool is_last = false;
    };
    bool can_bring(const SeenFacts& facts);
    void save_host(SavingJob* job, std::span<const std::byte> bytes, std::uint64_t before);
    bool copy(SavingJob* job, std::span<const std::byte> bytes);
    void bring(SavingJob* job, std::uint64_t address, std::uint64_t bytes, std::uint64_t before);
    bool bring_part(const std::shared_ptr<ArrivingTensor>& tensor, std::uint64_t address, const Part& part);
    Staging::Piece take(std::uint64_t bytes);

    Saving& saving_;
    Of of_;
    bool lacks_device_ = false;
    bool asked_for_device_ = false;
    SavingGpu* gpu_ = nullptr;
    SaveLaunch launch_;
    std::vector<ArrivingPiece> pieces_;  // the jobs of launch_, and pieces that never arrive
};

}  // namespace aoti_dbg
