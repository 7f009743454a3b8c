// Measures what a file system takes without the library: one thread writes new files of given sizes from
// memory, one after another. The caller waits until they are on disk and takes the time.
//   file_bench FOLDER SIZES
// SIZES is a file with one size in bytes per line. It must not use the library.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/timing.hpp"

namespace {

// Level 1 writes large tensors in pieces of this size with the default staging.
constexpr std::size_t kMostAtOnce = std::size_t{32} << 20U;

std::vector<std::size_t> read_sizes(const char* path) {
    std::vector<std::size_t> sizes;
    if (std::FILE* const file = std::fopen(path, "re")) {
        std::size_t size = 0;
        while (std::fscanf(file, "%zu", &size) == 1)
            sizes.push_back(size);
        std::fclose(file);
    }
    return sizes;
}

bool write_file(const std::string& path, std::size_t size, const std::vector<char>& content) {
    const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return false;
    std::size_t at = 0;
    while (at < size) {
        const ssize_t written =
            pwrite(file, content.data(), std::min(size - at, kMostAtOnce), static_cast<off_t>(at));
        if (written <= 0) break;
        at += static_cast<std::size_t>(written);
    }
    return close(file) == 0 && at == size;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::size_t> sizes = argc == 3 ? read_sizes(argv[2]) : std::vector<std::size_t>{};
    if (sizes.empty()) {
        std::fprintf(stderr, "usage: file_bench FOLDER SIZES, where SIZES is a file with a size a line\n");
        return 2;
    }
    // Some file systems do not write zeros or compress repetition, so this is noise that does not repeat
    // within a page.
    std::vector<char> content(std::min(kMostAtOnce, *std::max_element(sizes.begin(), sizes.end())));
    std::uint32_t noise = 1;
    for (char& byte : content)
        byte = static_cast<char>((noise = noise * 1664525 + 1013904223) >> 24U);
    bench::report_start();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (write_file(std::string(argv[1]) + "/" + std::to_string(i), sizes[i], content)) continue;
        std::perror("file_bench: cannot write a file");
        return 1;
    }
    return 0;
}
