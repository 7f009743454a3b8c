// See cli_show_gpu_dump.hpp.
#include "cli/cli_show_gpu_dump.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/message.hpp"
#include "cli/gpu_dump_text.hpp"
#include "cli/mapped_file.hpp"
#include "serializer/clean_text.hpp"

namespace aoti_dbg::cli {

bool is_gpu_dump(const std::string& path) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return false;
    const std::string extension = std::filesystem::path(path).extension();
    if (extension == ".nvcudmp" || extension == ".cudbg") return true;
    std::ifstream file(path, std::ios::binary);
    char begin[sizeof(elf::kMagic)] = {};
    file.read(begin, sizeof begin);
    return file.gcount() == sizeof begin && std::equal(begin, begin + sizeof begin, elf::kMagic);
}

int show_gpu_dump(const std::string& path) {
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file.ok()) {
        message(Severity::error, "%s", file.status().message().c_str());
        return 1;
    }
    const Result<gpu::GpuDump> dump = gpu::read_gpu_dump(file.value().bytes());
    if (!dump.ok()) {
        message(Severity::error, "%s %s", path.c_str(), dump.status().message().c_str());
        return 1;
    }
    std::string text = "dump      ";
    append_clean(path, text);
    text += "\n" + gpu_dump_text(dump.value());
    // A reader that has seen enough (`| head`) is no failure.
    std::signal(SIGPIPE, SIG_IGN);
    const bool is_whole =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (is_whole || errno == EPIPE) return 0;
    message(Severity::error, "standard output could not be written: %s", std::strerror(errno));
    return 1;
}

}  // namespace aoti_dbg::cli
