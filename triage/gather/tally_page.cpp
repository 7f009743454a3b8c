// See tally_page.hpp.
#include "triage/gather/tally_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <new>

#include "triage/gather/shared_descriptor.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace aoti_dbg {
namespace {

int memory_file() {
    // Beyond this limit, the kernel would end this process with SIGXFSZ.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < tally::kBytes) return -1;
    constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int descriptor = memfd_create("aoti-dbg-tally", kFlags | MFD_NOEXEC_SEAL);
    // Kernels before 6.3 reject that flag; some later ones require it.
    if (descriptor < 0) descriptor = memfd_create("aoti-dbg-tally", kFlags);
    if (descriptor < 0) return -1;
    // Sealed, because shortening it would kill all processes that map it.
    if (ftruncate(descriptor, tally::kBytes) == 0 &&
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        return descriptor;
    }
    close(descriptor);
    return -1;
}

template <typename Number>
Number count(Number& place) {
    return std::atomic_ref(place).load(std::memory_order_relaxed);
}

}  // namespace

TallyPage::TallyPage() : descriptor_(memory_file()) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    start_unix_ns_ = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (descriptor_ < 0) return;
    const std::optional<std::string> path = path_for_others(descriptor_);
    if (!path) return;
    void* const memory = mmap(nullptr, tally::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) return;
    page_ = new (memory) tally::Page{};
    page_->magic = tally::kMagic;
    page_->start_unix_ns = start_unix_ns_;
    path_ = *path;
}

TallyPage::~TallyPage() {
    if (page_ != nullptr) munmap(page_, tally::kBytes);
    if (descriptor_ >= 0) close(descriptor_);
}

void TallyPage::mark_start() const {
    if (page_ != nullptr) page_->start_pid = getpid();
}

std::optional<Seen> TallyPage::seen() const {
    if (page_ == nullptr) return std::nullopt;
    return Seen{count(page_->loaded),     count(page_->partaking), count(page_->models),
                count(page_->recording),  count(page_->left_out),  count(page_->findings),
                count(page_->cuda_error), count(page_->idle)};
}

std::string TallyPage::library_version() const {
    if (page_ == nullptr) return {};
    return {page_->library, strnlen(page_->library, sizeof page_->library)};
}

}  // namespace aoti_dbg
