#include "shim/calls/unrecorded.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "serializer/cuda_error.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {

void note_unrecorded_failure(std::int32_t error) {
    if (!ends_context(error) || !observing()) return;
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (session == nullptr || session->ring() != nullptr) return;
    static std::atomic<pid_t> said_by{0};
    if (said_by.exchange(getpid(), std::memory_order_relaxed) == getpid()) return;
    const ErrnoKeeper errno_keeper;
    note_error_in_tally(error);
    const std::string_view words = cuda_error(error).words;
    message(Severity::warn,
            "a driver call returned CUDA error %d (%.*s), and no flight recorder ring holds the launches "
            "before it. Set AOTI_DBG_OUT to a writable directory and AOTI_DBG_RING to a value above 0.",
            error, static_cast<int>(words.size()), words.data());
}

}  // namespace aoti_dbg
