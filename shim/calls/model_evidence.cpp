#include "shim/calls/model_evidence.hpp"

#include <algorithm>
#include <atomic>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

// Limits the package files kept per process. Sources take about 100 KiB, kernel images of a large model about
// 10 MiB.
constexpr std::uint64_t kMostEvidence = std::uint64_t{256} << 20U;

/// Records the package, so that readers of the ring find the model's sources.
void note_package(const ModelToKeep& model, const Session& session, const std::string& folder) {
    if (session.ring() == nullptr || folder.empty()) return;
    const ModelOfPackage noted{static_cast<std::uint32_t>(session.pid()), session.ring()->start_unix_ns(),
                               model.number, model.path, model.source};
    const Status status = note_model(noted, folder);
    static std::atomic<bool> said{false};
    if (!status.ok() && !said.exchange(true))
        message(Severity::warn, "%s. Reports may lack the sources of calls. %s", status.message().c_str(),
                remedy_for(status, "AOTI_DBG_OUT", PlaceKind::directory).c_str());
}

}  // namespace

void keep_model_evidence(const ModelToKeep& model) {
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (session == nullptr || session->folder().empty()) return;
    static std::atomic<std::uint64_t> bytes{0};
    const std::uint64_t used = std::min(bytes.load(std::memory_order_relaxed), kMostEvidence);
    const Result<KeptEvidence> kept =
        keep_evidence(model.path, session->folder(), kMostEvidence - used, model.torch, model.sites);
    if (kept.ok()) {
        bytes.fetch_add(kept.value().bytes, std::memory_order_relaxed);
        note_package(model, *session, kept.value().folder);
    }
    static std::atomic<bool> said{false};
    if (!kept.ok()) {
        if (!said.exchange(true))
            message(
                Severity::warn,
                "%s. The sources of this model are not kept. To keep no sources, set AOTI_DBG_EVIDENCE=off.",
                kept.status().message().c_str());
    } else if (kept.value().left_out != 0 && !said.exchange(true)) {
        message(Severity::info,
                "%llu files next to %s are not kept in %s: they are too large or not regular files.",
                static_cast<unsigned long long>(kept.value().left_out), model.path.c_str(),
                kept.value().folder.c_str());
    }
}

}  // namespace aoti_dbg
