#include "model/wrapper_lines.hpp"

#include "base/mapped_file.hpp"

namespace aoti_dbg {

Result<FunctionLines> read_wrapper_lines(const std::string& so_path) {
    // torch::aot_inductor::AOTInductorModel::run_impl(...)
    constexpr std::string_view kRunImpl = "_ZN5torch12aot_inductor16AOTInductorModel8run_implE";
    const Result<MappedFile> mapped = MappedFile::open(so_path);
    if (!mapped.ok()) return mapped.status();
    const Result<elf::File> file = elf::File::open(mapped.value().bytes());
    if (!file.ok()) return file.status();
    return lines_of_function(file.value(), kRunImpl);
}

}  // namespace aoti_dbg
