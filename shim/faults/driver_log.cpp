// See driver_log.hpp.
#include "shim/faults/driver_log.hpp"

#include <memory>

#include "base/errno_keeper.hpp"
#include "serializer/driver_log.hpp"
#include "shim/calls/current_session.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

static_assert(static_cast<int>(driver_log::Level::error) == CU_LOG_LEVEL_ERROR);
static_assert(static_cast<int>(driver_log::Level::warning) == CU_LOG_LEVEL_WARNING);

/// Finds the file in the wiped page, so a forked child writes nothing to its parent's file.
void CUDA_CB keep_line(void* /*data*/, CUlogLevel level, char* text, std::size_t bytes) {
    if (text == nullptr || is_own_driver_call()) return;
    DriverLogFile* const file = wiped_page().driver_log.load(std::memory_order_acquire);
    if (file == nullptr) return;
    const ErrnoKeeper errno_keeper;
    file->add(static_cast<driver_log::Level>(level), text, bytes);
}

}  // namespace

void DriverLogPart::start() {
    if (is_started_.exchange(true)) return;
    const DriverApi* const api = driver_api();
    if (api == nullptr || api->cuLogsRegisterCallback == nullptr) return;
    DriverLogFile* const file = file_.file();
    if (file == nullptr) return;
    wiped_page().driver_log.store(file, std::memory_order_release);
    CUlogsCallbackHandle handle = nullptr;
    if (api->cuLogsRegisterCallback(&keep_line, nullptr, &handle) != CUDA_SUCCESS) finish();
}

void DriverLogPart::finish() {
    wiped_page().driver_log.store(nullptr, std::memory_order_release);
}

void DriverLogPart::close(std::span<const NamedCount> /*counts*/) {
    if (DriverLogFile* const file = file_.present(); file != nullptr) file->remove_if_empty();
}

void start_driver_log(Session& session) {
    if (options().records_all() && session.ring() != nullptr)
        session.add(std::make_unique<DriverLogPart>(driver_log_path(session.ring()->path())));
}

void watch_driver_log() {
    if (!options().records_all()) return;
    const Session* const session = current_session();
    DriverLogPart* const part = session == nullptr ? nullptr : session->part<DriverLogPart>();
    if (part != nullptr) part->start();
}

}  // namespace aoti_dbg
