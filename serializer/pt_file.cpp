// A `.pt` file is a zip archive of stored records (zip_format.hpp), in this order:
//
//   archive/data.pkl                needed  the tensor as a pickle, described below
//   archive/.format_version         usual   "1": with the next one, the offsets of storages can be computed
//   archive/.storage_alignment      usual   "64"
//   archive/byteorder               usual   "little"; without it readers assume little-endian
//   archive/data/0                  needed  the storage's bytes, aligned to 64
//   archive/version                 needed  "3\n", by PyTorch's C++ reader
//   archive/.data/serialization_id  usual   40 digits, from names and checksums of the others
//
// "archive" may be any name, if it is the same everywhere. The pickle builds the tensor by calling
//
//   torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad=False, OrderedDict())
//   torch._utils._rebuild_tensor_v3(the same, dtype)
//
// If a math bit is set, {"neg": True, "conj": True} is one more argument.
//
// The storage is the persistent id ("storage", class, "0", device, number of elements). Dtypes with their own
// class (torch.FloatStorage) use the first function. The others use UntypedStorage, whose elements are bytes,
// and the second function.
#include "serializer/pt_file.hpp"

#include <bit>

#include "serializer/pickle_writer.hpp"
#include "serializer/pt_names.hpp"
#include "serializer/zip_writer.hpp"

namespace aoti_dbg {
namespace {

static_assert(std::endian::native == std::endian::little);

/// Adds the bits in PyTorch's order.
void add_bits(MathBits bits, PickleWriter& pickle) {
    pickle.remembered(PickleOp::empty_dict);
    const bool are_both = bits.negative && bits.conjugate;
    if (are_both) pickle.op(PickleOp::mark);
    const auto add = [&pickle](const char* name) {
        pickle.text(name);
        pickle.op(PickleOp::new_true);
    };
    if (bits.negative) add("neg");
    if (bits.conjugate) add("conj");
    pickle.op(are_both ? PickleOp::set_items : PickleOp::set_item);
}

std::string pickled(const PtTensor& tensor) {
    // A storage may end within an element, which a count of elements cannot express.
    const bool is_whole = tensor.storage_bytes % element_size(tensor.dtype) == 0;
    const char* storage_class = is_whole ? pt_storage_class(tensor.dtype) : nullptr;
    const bool is_typed = storage_class != nullptr;

    PickleWriter pickle;
    pickle.global("torch._utils", is_typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    pickle.op(PickleOp::mark);
    pickle.op(PickleOp::mark);
    pickle.text("storage");
    if (is_typed) {
        pickle.global("torch", storage_class);
    } else {
        pickle.global("torch.storage", "UntypedStorage");
    }
    pickle.text("0");
    pickle.text(tensor.device);
    pickle.integer(
        static_cast<std::int64_t>(tensor.storage_bytes / (is_typed ? element_size(tensor.dtype) : 1)));
    pickle.remembered(PickleOp::tuple);
    pickle.op(PickleOp::persistent_id);
    pickle.integer(tensor.storage_offset);
    pickle.integers(tensor.sizes);
    pickle.integers(tensor.strides);
    pickle.op(PickleOp::new_false);
    pickle.global("collections", "OrderedDict");
    pickle.op(PickleOp::empty_tuple);
    pickle.remembered(PickleOp::reduce);
    if (!is_typed) pickle.global("torch", dtype_name(tensor.dtype));
    if (tensor.bits.any()) add_bits(tensor.bits, pickle);
    pickle.remembered(PickleOp::tuple);
    pickle.remembered(PickleOp::reduce);
    return pickle.finish();
}

/// Returns PyTorch's hash of the names of all records above, which never change, and of their checksums.
std::string serialization_id(std::uint64_t combined_crcs) {
    std::string digits = "1572819951185464302600000000000000000000";
    for (auto at = digits.rbegin(); combined_crcs != 0; ++at, combined_crcs /= 10)
        *at = static_cast<char>('0' + combined_crcs % 10);
    return digits;
}

}  // namespace

PtFrame pt_frame(const PtTensor& tensor, std::uint32_t crc_of_storage) {
    PtFrame frame;
    ZipWriter archive("archive", kPtAlignment);
    archive.add("data.pkl", pickled(tensor));
    archive.add(".format_version", "1");
    archive.add(".storage_alignment", "64");
    archive.add("byteorder", "little");
    archive.begin("data/0", tensor.storage_bytes);
    frame.head = archive.take();
    archive.end(crc_of_storage);
    archive.add("version", "3\n");
    archive.add(".data/serialization_id", serialization_id(archive.combined_crcs()));
    archive.finish();
    frame.tail = archive.take();
    return frame;
}

}  // namespace aoti_dbg
