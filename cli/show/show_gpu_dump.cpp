// See show_gpu_dump.hpp.
#include "cli/show/show_gpu_dump.hpp"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/clean_text.hpp"
#include "base/mapped_file.hpp"
#include "base/message.hpp"
#include "cli/print.hpp"
#include "cli/show/gpu_dump_text.hpp"

namespace aoti_dbg::cli {

bool is_gpu_dump(const std::string& path) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return false;
    const std::string extension = std::filesystem::path(path).extension();
    if (extension == ".nvcudmp" || extension == ".cudbg") return true;
    std::ifstream file(path, std::ios::binary);
    char begin[SELFMAG] = {};
    file.read(begin, sizeof begin);
    return file.gcount() == sizeof begin && std::memcmp(begin, ELFMAG, sizeof begin) == 0;
}

int show_gpu_dump(const std::string& path) {
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", file.status().message().c_str());
        return 1;
    }
    const Result<gpu::GpuDump> dump = gpu::read_gpu_dump(file.value().bytes());
    if (!dump.ok()) {
        error_message(ErrorCode::unreadable_recording, "%s %s.", path.c_str(),
                      dump.status().message().c_str());
        return 1;
    }
    std::string text = "dump      ";
    append_clean(path, text);
    text += "\n" + gpu_dump_text(dump.value());
    return print(text);
}

}  // namespace aoti_dbg::cli
