// The C++ side of tests/models/pt_test.py: writes `.pt` files and prints their contents, or prints what it
// reads in files of torch.save(). It prints one JSON object per line on standard output.
//
//   pt_exchange write FOLDER     each of pt_cases() as FOLDER/<name>.pt
//   pt_exchange huge FILE BYTES  zeros of uint8, "the end" as the last of them, in a file with a hole
//   pt_exchange read             the files named on standard input, one a line
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"
#include "serializer/pt_reader.hpp"
#include "tests/support/pt_cases.hpp"

namespace aoti_dbg::test {
namespace {

std::string hex(std::span<const std::byte> bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text.push_back(kDigits[static_cast<unsigned>(byte) >> 4U]);
        text.push_back(kDigits[static_cast<unsigned>(byte) & 15U]);
    }
    return text;
}

nlohmann::json described(const PtTensor& tensor, std::span<const std::byte> storage) {
    // A huge storage is printed only in part.
    const std::span<const std::byte> shown = storage.last(std::min<std::size_t>(storage.size(), 4U << 20U));
    return {{"dtype", dtype_name(tensor.dtype)},
            {"sizes", tensor.sizes},
            {"strides", tensor.strides},
            {"offset", tensor.storage_offset},
            {"storage_bytes", tensor.storage_bytes},
            {"storage", hex(shown)},
            {"device", tensor.device},
            {"conjugate", tensor.bits.conjugate},
            {"negative", tensor.bits.negative}};
}

bool put(std::ofstream& file, std::span<const std::byte> bytes) {
    return !!file.write(reinterpret_cast<const char*>(bytes.data()),
                        static_cast<std::streamsize>(bytes.size()));
}

bool write_all(const std::string& folder) {
    for (const PtCase& saved : pt_cases()) {
        const std::string path = folder + "/" + saved.name + ".pt";
        std::ofstream file(path, std::ios::binary);
        if (!put(file, whole_file(saved))) return false;
        nlohmann::json line = described(saved.tensor(), saved.storage);
        line["path"] = path;
        std::cout << line.dump() << "\n";
    }
    return true;
}

bool write_huge(const std::string& path, std::uint64_t bytes) {
    const auto end = std::as_bytes(std::span("the end", 7));
    const auto size = static_cast<std::int64_t>(bytes);
    const std::int64_t one = 1;
    const std::uint64_t zeros = bytes - end.size();
    const std::uint32_t crc = crc32_combine(crc32_of_zeros(zeros), crc32(0, end), end.size());
    const PtFrame frame = pt_frame({DType::uint8, {&size, 1}, {&one, 1}, 0, bytes, "cpu"}, crc);
    std::ofstream file(path, std::ios::binary);
    const bool began = put(file, frame.head);
    file.seekp(static_cast<std::streamoff>(frame.head.size() + zeros));
    return began && put(file, end) && put(file, frame.tail);
}

nlohmann::json read_one(const std::string& path) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (file.number() < 0 || fstat(file.number(), &info) != 0) return {{"error", "cannot be opened"}};
    const auto size = static_cast<std::size_t>(info.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (memory == MAP_FAILED) return {{"error", "cannot be mapped"}};
    const Result<PtView> read = read_pt({static_cast<const std::byte*>(memory), size});
    nlohmann::json line;
    if (read.ok()) {
        const PtView& view = read.value();
        line = described({view.dtype, view.sizes, view.strides, view.storage_offset, view.storage.size(),
                          view.device, view.bits},
                         view.storage);
    } else {
        line["error"] = read.status().message();
    }
    munmap(memory, size);
    return line;
}

int run(std::span<const char* const> arguments) {
    const std::string what = arguments.size() > 1 ? arguments[1] : "";
    if (what == "write" && arguments.size() == 3) return write_all(arguments[2]) ? 0 : 1;
    if (what == "huge" && arguments.size() == 4)
        return write_huge(arguments[2], std::stoull(arguments[3])) ? 0 : 1;
    if (what != "read") return 2;
    for (std::string path; std::getline(std::cin, path);)
        std::cout << read_one(path).dump() << "\n";
    return 0;
}

}  // namespace
}  // namespace aoti_dbg::test

int main(int count, char** arguments) {
    return aoti_dbg::test::run({arguments, static_cast<std::size_t>(count)});
}
