#include "cli/show/show_tensor.hpp"

#include <filesystem>

#include "base/mapped_file.hpp"
#include "base/message.hpp"
#include "cli/print.hpp"
#include "cli/show/tensor_text.hpp"

namespace aoti_dbg::cli {

bool is_saved_tensor(const std::string& path) {
    std::error_code failed;
    return std::filesystem::path(path).extension() == ".pt" && std::filesystem::is_regular_file(path, failed);
}

int show_tensor(const std::string& path) {
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", file.status().message().c_str());
        return 1;
    }
    const Result<PtView> tensor = read_pt(file.value().bytes());
    if (!tensor.ok()) {
        error_message(ErrorCode::unreadable_recording, "cannot read %s: %s.", path.c_str(),
                      tensor.status().message().c_str());
        return 1;
    }
    return print(tensor_text(tensor.value()));
}

}  // namespace aoti_dbg::cli
