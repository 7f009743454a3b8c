#include "shim/runtime/tally.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "serializer/tally_format.hpp"

namespace aoti_dbg {
namespace {

tally::Page* g_page = nullptr;

tally::Page* map_page(const char* path) {
    // The variable can name any file, so accept only a page that has the command's size and magic.
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return nullptr;
    struct stat info {};
    void* mapped = MAP_FAILED;
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size == static_cast<off_t>(tally::kBytes)) {
        mapped = mmap(nullptr, tally::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    close(descriptor);
    if (mapped == MAP_FAILED) return nullptr;
    auto* page = static_cast<tally::Page*>(mapped);
    if (page->magic == tally::kMagic) return page;
    munmap(mapped, tally::kBytes);
    return nullptr;
}

void raise(std::uint32_t& count) {
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

}  // namespace

void join_tally() {
    const char* const path = getenv(tally::kVariable);
    if (path == nullptr) return;
    const int kept_errno = errno;
    g_page = map_page(path);
    errno = kept_errno;
    if (g_page == nullptr) return;
    // The page starts as zeros, so the last byte stays 0 even if several processes write at the same time.
    strncpy(g_page->library, AOTI_DBG_VERSION, sizeof g_page->library - 1);
    raise(g_page->loaded);
}

void count_in_tally(TallyCount what) {
    if (g_page == nullptr) return;
    switch (what) {
        case TallyCount::partaking:
            return raise(g_page->partaking);
        case TallyCount::models:
            return raise(g_page->models);
        case TallyCount::recording:
            return raise(g_page->recording);
        case TallyCount::left_out:
            return raise(g_page->left_out);
        case TallyCount::findings:
            return raise(g_page->findings);
        case TallyCount::idle:
            return raise(g_page->idle);
    }
}

void note_error_in_tally(std::int32_t error) {
    std::int32_t none = 0;
    if (g_page != nullptr)
        __atomic_compare_exchange_n(&g_page->cuda_error, &none, error, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

bool first_to_complain() {
    return g_page != nullptr && __atomic_exchange_n(&g_page->complained, 1, __ATOMIC_RELAXED) == 0;
}

bool is_tallied() {
    return g_page != nullptr;
}

bool claim_out_folder() {
    if (g_page == nullptr) return false;
    const std::int32_t self = getpid();
    std::int32_t owner = 0;
    // A program keeps its pid across exec, so it keeps the claim.
    return __atomic_compare_exchange_n(&g_page->folder_owner, &owner, self, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED) ||
           owner == self;
}

std::optional<Origin> tallied_start() {
    if (g_page == nullptr || g_page->start_pid == 0) return std::nullopt;
    return Origin{g_page->start_pid, g_page->start_unix_ns / 1000000000};
}

}  // namespace aoti_dbg
