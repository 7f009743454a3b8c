// See pt_reader.hpp. pt_file.cpp describes the file and the calls in its pickle. For a Parameter or a tensor
// with attributes, torch.save() adds a wrapper, which this reader removes.
#include "serializer/pt_reader.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/clean_text.hpp"
#include "serializer/crc32.hpp"
#include "serializer/pickle_reader.hpp"
#include "serializer/pt_names.hpp"
#include "serializer/zip_reader.hpp"

namespace aoti_dbg {
namespace {

using Kind = PickleValue::Kind;

Status not_plain(const std::string& what, const char* advice) {
    return Status::error("expected a plain tensor, got " + what + ". " + advice);
}

constexpr const char* kSaveOne = "Save one tensor by itself: torch.save(t.detach().clone(), path)";

std::string named(const PickleValue& global) {
    std::string text;
    append_shortened(global.module, 80, text);
    text += '.';
    append_shortened(global.text, 80, text);
    return text;
}

std::string function_name(const PickleValue& function) {
    if (function.is_global("collections", "OrderedDict")) return "a dict (OrderedDict)";
    return function.is(Kind::global) ? "the result of " + named(function) + "()" : "an object";
}

/// "a dict of 3 entries"
std::string described(const Pickle& pickle, const PickleValue& value) {
    const auto many = [&value](const char* what) {
        return what + std::to_string(value.number) + (value.number == 1 ? " entry" : " entries");
    };
    switch (value.kind) {
        case Kind::none:
            return "None";
        case Kind::boolean:
            return "a bool";
        case Kind::integer:
            return "an integer";
        case Kind::real:
            return "a float";
        case Kind::text:
            return "a string";
        case Kind::tuple:
            return "a tuple";
        case Kind::list:
            return many("a list of ");
        case Kind::dict:
            return many("a dict of ");
        case Kind::global:
            return named(value);
        case Kind::persistent:
            return "a storage";
        case Kind::object:
            break;
    }
    return function_name(pickle.item(value, 0));
}

/// A tensor as its pickle describes it. The storage's id is still a name.
struct TensorLayout {
    DType dtype{};
    PickleValue sizes;
    PickleValue strides;
    std::int64_t storage_offset = 0;
    std::uint64_t storage_bytes = 0;
    MathBits bits;
    std::string_view key;
    std::string_view device;
};

Status strange(const char* what) {
    return Status::error(std::string("unexpected pickle: ") + what +
                         ". torch.save() did not write it, or it was altered");
}

/// The function that builds the tensor, and its arguments.
struct Call {
    PickleValue function;
    PickleValue arguments;
};

/// Removes the wrapper around the call. torch.save() adds at most one layer.
Result<Call> innermost_call(const Pickle& pickle) {
    const PickleValue* value = &pickle.result();
    for (int depth = 0; depth < 2 && value->is(Kind::object); ++depth) {
        const PickleValue& function = pickle.item(*value, 0);
        const PickleValue& arguments = pickle.item(*value, 1);
        if (!arguments.is(Kind::tuple)) break;
        const bool is_parameter = function.is_global("torch._utils", "_rebuild_parameter") ||
                                  function.is_global("torch._utils", "_rebuild_parameter_with_state");
        if (is_parameter && arguments.items > 0) {
            value = &pickle.item(arguments, 0);
            continue;
        }
        // (function, type, arguments, attributes)
        const bool has_attributes = function.is_global("torch._tensor", "_rebuild_from_type_v2") &&
                                    arguments.items == 4 &&
                                    pickle.item(arguments, 1).is_global("torch", "Tensor");
        if (has_attributes) return Call{pickle.item(arguments, 0), pickle.item(arguments, 2)};
        return Call{function, arguments};
    }
    return not_plain(described(pickle, pickle.result()), kSaveOne);
}

/// Returns the dtype whose name, from `name_of`, is that of `global` in the module "torch".
Result<DType> dtype_of(const PickleValue& global, const char* (*name_of)(DType)) {
    if (!global.is(Kind::global)) return strange("a dtype is not a name");
    for (std::uint32_t number = 0; number < kDTypes; ++number) {
        const auto dtype = static_cast<DType>(number);
        const char* name = name_of(dtype);
        if (name != nullptr && global.is_global("torch", name)) return dtype;
    }
    return Status::error("unknown dtype " + named(global) +
                         ". Save the bytes of the tensor: t.view(torch.uint8)");
}

/// ("storage", class, key, device, number of elements)
Status read_storage(const Pickle& pickle, const PickleValue& storage, TensorLayout& layout, bool is_typed) {
    if (!storage.is(Kind::persistent)) return strange("a tensor without a storage");
    const PickleValue& id = pickle.item(storage, 0);
    if (!id.is(Kind::tuple) || id.items < 5) return strange("the id of a storage is not a tuple of five");
    const PickleValue& type = pickle.item(id, 1);
    const PickleValue& key = pickle.item(id, 2);
    const PickleValue& device = pickle.item(id, 3);
    const PickleValue& elements = pickle.item(id, 4);
    if (!key.is(Kind::text) || !device.is(Kind::text) || !elements.is(Kind::integer) || elements.number < 0) {
        return strange("the id of a storage lacks its key, device or size");
    }
    std::uint64_t bytes_each = 1;
    if (is_typed) {
        const Result<DType> dtype = dtype_of(type, pt_storage_class);
        if (!dtype.ok()) return dtype.status();
        layout.dtype = dtype.value();
        bytes_each = element_size(layout.dtype);
    } else if (!type.is_global("torch.storage", "UntypedStorage")) {
        return strange("a storage is not an UntypedStorage");
    }
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(elements.number), bytes_each,
                               &layout.storage_bytes)) {
        return strange("a storage is impossibly large");
    }
    layout.key = key.text;
    layout.device = device.text;
    return {};
}

/// Reads {"neg": True, "conj": True}, or one of them. Returns nothing if the dict has anything else.
std::optional<MathBits> math_bits(const Pickle& pickle, const PickleValue& metadata) {
    const std::int64_t entries = metadata.items / 2;
    if (!metadata.is(Kind::dict) || metadata.number != entries) return std::nullopt;
    MathBits bits;
    for (std::uint32_t i = 0; i < metadata.items; i += 2) {
        const PickleValue& key = pickle.item(metadata, i);
        const PickleValue& value = pickle.item(metadata, i + 1);
        if (!key.is(Kind::text) || !value.is(Kind::boolean)) return std::nullopt;
        if (key.text != "neg" && key.text != "conj") return std::nullopt;
        (key.text == "neg" ? bits.negative : bits.conjugate) = value.number != 0;
    }
    return bits;
}

/// (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, metadata])
Result<TensorLayout> read_layout(const Pickle& pickle) {
    const Result<Call> call = innermost_call(pickle);
    if (!call.ok()) return call.status();
    const auto& [function, arguments] = call.value();
    const bool is_typed = function.is_global("torch._utils", "_rebuild_tensor_v2");
    if (!is_typed && !function.is_global("torch._utils", "_rebuild_tensor_v3")) {
        return not_plain(function_name(function), kSaveOne);
    }
    const std::uint32_t plain = is_typed ? 6 : 7;
    if (!arguments.is(Kind::tuple) || arguments.items < plain) return strange("too few arguments");
    TensorLayout layout;
    if (arguments.items > plain) {
        const std::optional<MathBits> bits = math_bits(pickle, pickle.item(arguments, plain));
        if (!bits || arguments.items > plain + 1)
            return not_plain("a tensor with unknown metadata", kSaveOne);
        layout.bits = *bits;
    }
    Status storage = read_storage(pickle, pickle.item(arguments, 0), layout, is_typed);
    if (!storage.ok()) return storage;
    const PickleValue& offset = pickle.item(arguments, 1);
    if (!offset.is(Kind::integer) || offset.number < 0) return strange("a storage offset is not a size");
    layout.storage_offset = offset.number;
    layout.sizes = pickle.item(arguments, 2);
    layout.strides = pickle.item(arguments, 3);
    if (!is_typed) {
        const Result<DType> dtype = dtype_of(pickle.item(arguments, 6), dtype_name);
        if (!dtype.ok()) return dtype.status();
        layout.dtype = dtype.value();
    }
    return layout;
}

/// Returns false unless all are integers that may be sizes.
bool take_sizes(const Pickle& pickle, const PickleValue& tuple, std::vector<std::int64_t>& to) {
    if (!tuple.is(Kind::tuple) || tuple.items > kMaxRank) return false;
    for (std::uint32_t i = 0; i < tuple.items; ++i) {
        const PickleValue& size = pickle.item(tuple, i);
        if (!size.is(Kind::integer) || size.number < 0) return false;
        to.push_back(size.number);
    }
    return true;
}

/// True if all elements are within the storage and their count does not overflow.
bool fits(const PtView& view) {
    std::int64_t count = 1;
    std::int64_t last = view.storage_offset;
    bool overflows = false;
    for (std::size_t d = 0; d < view.sizes.size(); ++d) {
        if (view.sizes[d] == 0) return true;
        std::int64_t reach = 0;
        overflows |= __builtin_mul_overflow(count, view.sizes[d], &count);
        overflows |= __builtin_mul_overflow(view.sizes[d] - 1, view.strides[d], &reach);
        overflows |= __builtin_add_overflow(last, reach, &last);
    }
    return !overflows && static_cast<std::uint64_t>(last) < view.storage.size() / element_size(view.dtype);
}

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status wrong_checksum(const char* what) {
    return Status::error(std::string("the checksum of its ") + what +
                         " is wrong: it was damaged, or saved with "
                         "torch.serialization.set_crc32_options(False). Save or copy it again");
}

/// Returns a required record.
Result<ZipRecord> needed(const ZipReader& archive, const std::string& name) {
    const Result<std::optional<ZipRecord>> found = archive.find(name);
    if (!found.ok()) return found.status();
    if (found.value()) return *found.value();
    std::string shown;
    append_shortened(name, 80, shown);
    return Status::error("a zip archive, but not from torch.save(): it has no record " + shown);
}

Status check_byte_order(const ZipReader& archive) {
    const Result<std::optional<ZipRecord>> found = archive.find("byteorder");
    if (!found.ok()) return found.status();
    if (!found.value() || text_of(found.value()->content) == "little") return {};
    return Status::error(
        "written on a machine with another byte order. Load it with torch.load() and save it again");
}

bool is_zip(std::span<const std::byte> file) {
    return text_of(file).starts_with("PK");
}

}  // namespace

Result<PtView> read_pt(std::span<const std::byte> file, PtCheck check) {
    if (!is_zip(file)) {
        return Status::error(
            "not a .pt file, which is a zip archive. Load a file of PyTorch before 1.6 with torch.load() and "
            "save it again");
    }
    const Result<ZipReader> archive = ZipReader::open(file);
    if (!archive.ok()) return archive.status();
    const Result<ZipRecord> pickled = needed(archive.value(), "data.pkl");
    if (!pickled.ok()) return pickled.status();
    Status byte_order = check_byte_order(archive.value());
    if (!byte_order.ok()) return byte_order;
    const std::span<const std::byte> pickle_bytes = pickled.value().content;
    if (check == PtCheck::everything && crc32(0, pickle_bytes) != pickled.value().crc) {
        return wrong_checksum("pickle");
    }

    const Result<Pickle> pickle = Pickle::read(text_of(pickle_bytes));
    if (!pickle.ok()) {
        return Status::error("not a plain tensor, or damaged: " + pickle.status().message() + ". " +
                             kSaveOne);
    }
    const Result<TensorLayout> layout = read_layout(pickle.value());
    if (!layout.ok()) return layout.status();
    const Result<ZipRecord> storage = needed(archive.value(), "data/" + std::string(layout.value().key));
    if (!storage.ok()) return storage.status();
    if (storage.value().content.size() < layout.value().storage_bytes) {
        return strange("a storage is larger than its record");
    }

    PtView view;
    view.dtype = layout.value().dtype;
    view.storage_offset = layout.value().storage_offset;
    view.device = layout.value().device;
    view.bits = layout.value().bits;
    view.storage = storage.value().content.first(layout.value().storage_bytes);
    if (!take_sizes(pickle.value(), layout.value().sizes, view.sizes) ||
        !take_sizes(pickle.value(), layout.value().strides, view.strides) ||
        view.sizes.size() != view.strides.size()) {
        return strange("its sizes and strides are invalid");
    }
    if (!fits(view)) return strange("the tensor reaches beyond its storage");
    if (check == PtCheck::everything && crc32(0, storage.value().content) != storage.value().crc) {
        return wrong_checksum("data");
    }
    return view;
}

}  // namespace aoti_dbg
