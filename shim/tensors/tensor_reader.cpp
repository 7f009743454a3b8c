#include "shim/tensors/tensor_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes_at.hpp"
#include "base/words.hpp"
#include "stats_kernels/device_job.hpp"
#include "stats_kernels/math_bits.hpp"

namespace aoti_dbg {
namespace {

// Dynamic models bring new shapes all the time. At half of this capacity, all facts are forgotten; facts in
// use stay valid.
constexpr std::size_t kPlaces = 4096;

std::string device_name(const ShimApi& api, std::int32_t type, std::int32_t index) {
    if (type == api.cpu) return "cpu";
    if (type != api.cuda) return "type " + std::to_string(type);
    return index < 0 ? "cuda" : aoti_dbg::device_name(index);
}

/// Matches torch's is_contiguous().
bool is_contiguous(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
    if (element_count(sizes) == 0) return true;
    std::int64_t expected = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
        if (sizes[i] == 1) continue;
        if (strides[i] != expected) return false;
        expected *= sizes[i];
    }
    return true;
}

/// Lists are so short that a call of memcmp would take longer.
bool are_equal(std::span<const std::int64_t> one, std::span<const std::int64_t> other) {
    if (one.size() != other.size()) return false;
    for (std::size_t i = 0; i < one.size(); ++i)
        if (one[i] != other[i]) return false;
    return true;
}

}  // namespace

std::optional<std::uint64_t> reach(std::span<const std::int64_t> sizes,
                                   std::span<const std::int64_t> strides) {
    __extension__ using Wide = __int128;
    Wide last = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == 0) return 0;
        if (sizes[i] < 0 || strides[i] < 0) return std::nullopt;  // torch has no negative strides
        last += static_cast<Wide>(sizes[i] - 1) * strides[i];
        if (last >= INT64_MAX) return std::nullopt;
    }
    return static_cast<std::uint64_t>(last) + 1;
}

struct TensorReader::Raw {
    std::int32_t dtype_code = -1;
    std::int32_t device_type = -1;
    std::int32_t device_index = -1;
    bool is_strided = true;
    std::int64_t storage_offset = 0;
    std::int64_t storage_bytes = -1;
    MathBits bits;
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> strides;

    [[nodiscard]] std::uint64_t hash() const {
        Mix mix;
        mix.add(device_type);
        mix.add(device_index);
        mix.add(storage_offset);
        mix.add(storage_bytes);
        add_view(mix);
        return mix.state;
    }
    /// Ignores where the elements are.
    [[nodiscard]] std::uint64_t hash_of_view() const {
        Mix mix;
        add_view(mix);
        return mix.state;
    }
    /// Ignores the shape, too.
    [[nodiscard]] std::uint64_t hash_of_elements(std::uint64_t count) const {
        Mix mix;
        add_dtype(mix);
        mix.add(static_cast<std::int64_t>(count));
        return mix.state;
    }

  private:
    struct Mix {
        std::uint64_t state = 0x9e3779b97f4a7c15ULL;
        void add(std::int64_t value) {
            state = (state ^ static_cast<std::uint64_t>(value)) * 0xff51afd7ed558ccdULL;
            state ^= state >> 32U;
        }
    };
    void add_dtype(Mix& mix) const {
        mix.add(dtype_code);
        mix.add(bits.conjugate ? 1 : 0);
        mix.add(bits.negative ? 1 : 0);
    }
    void add_view(Mix& mix) const {
        add_dtype(mix);
        for (const std::int64_t size : sizes)
            mix.add(size);
        for (const std::int64_t stride : strides)
            mix.add(stride);
    }
};

/// Returns the bytes up to the last element, for a runtime that does not describe storages. Returns -1 if
/// unknown.
std::int64_t TensorReader::needed_storage(const ShimApi& api, const Raw& raw) {
    const std::optional<DType> dtype = api.dtype_of(raw.dtype_code);
    const std::optional<std::uint64_t> elements = reach(raw.sizes, raw.strides);
    if (!dtype || !elements || raw.storage_offset < 0) return -1;
    const std::uint64_t all = *elements + static_cast<std::uint64_t>(raw.storage_offset);
    const std::uint64_t bytes = element_size(*dtype);
    return all > INT64_MAX / bytes ? -1 : static_cast<std::int64_t>(all * bytes);
}

bool TensorReader::is_same(const KnownTensor& known, const Raw& raw) {
    const SeenFacts& facts = *known.facts;
    return known.dtype_code == raw.dtype_code && known.device_type == raw.device_type &&
           facts.device_index == raw.device_index && facts.is_strided == raw.is_strided &&
           facts.storage_offset == raw.storage_offset && facts.storage_bytes == raw.storage_bytes &&
           facts.bits == raw.bits && are_equal(facts.sizes, raw.sizes) &&
           are_equal(facts.strides, raw.strides);
}

void TensorReader::prepare_jobs(const Raw& raw, SeenFacts& facts) {
    facts.jobs[0] = prepare_job(facts.view(0), Requested::printed);
    facts.jobs[1] = prepare_job(facts.view(0), Requested::indices);
    facts.likeness[1] = raw.hash_of_view();
    // The values of a small tensor are printed in its shape.
    const bool is_any_shape = facts.is_contiguous && facts.count > kMostValues;
    facts.likeness[0] = is_any_shape ? raw.hash_of_elements(facts.count) : facts.likeness[1];
}

const SeenFacts* TensorReader::facts_of(const ShimApi& api, TensorHandle handle, const Raw& raw) {
    if (used_ >= kPlaces / 2) forget();
    if (known_.empty()) known_.resize(kPlaces);
    std::uint16_t& last_place =
        last_places_[reinterpret_cast<std::uintptr_t>(handle) / 16 % last_places_.size()];
    const KnownTensor& last = known_[last_place];
    if (last.facts != nullptr && is_same(last, raw)) return last.facts.get();
    return look_up(api, raw, last_place);
}

const SeenFacts* TensorReader::look_up(const ShimApi& api, const Raw& raw, std::uint16_t& place_of_last) {
    const std::uint64_t hash = raw.hash();
    std::size_t place = hash % kPlaces;
    for (; known_[place].facts != nullptr; place = (place + 1) % kPlaces) {
        if (known_[place].hash != hash || !is_same(known_[place], raw)) continue;
        place_of_last = static_cast<std::uint16_t>(place);
        return known_[place].facts.get();
    }
    auto facts = std::make_unique<SeenFacts>();
    const std::optional<DType> dtype = api.dtype_of(raw.dtype_code);
    facts->dtype = dtype ? dtype_name(*dtype) : "code " + std::to_string(raw.dtype_code);
    facts->measured_dtype = dtype.value_or(DType::float32);
    facts->device = device_name(api, raw.device_type, raw.device_index);
    facts->device_index = raw.device_index;
    facts->place = raw.device_type == api.cpu    ? Place::cpu
                   : raw.device_type == api.cuda ? Place::cuda
                                                 : Place::elsewhere;
    facts->is_strided = raw.is_strided;
    facts->sizes.assign(raw.sizes.begin(), raw.sizes.end());
    facts->strides.assign(raw.strides.begin(), raw.strides.end());
    facts->storage_offset = raw.storage_offset;
    facts->storage_bytes = raw.storage_bytes;
    facts->bits = raw.bits;
    facts->count = element_count(facts->sizes);
    facts->is_contiguous = raw.is_strided && is_contiguous(facts->sizes, facts->strides);
    if (!raw.is_strided) {
        facts->unmeasured = "its layout is not strided";
    } else if (facts->place == Place::elsewhere) {
        facts->unmeasured = "it is neither in host memory nor on a CUDA device";
    } else if (!dtype) {
        facts->unmeasured = "its dtype is unknown";
    } else if (raw.storage_offset < 0 || raw.storage_bytes < 0) {
        facts->unmeasured = "its storage is unknown";
    } else {
        const std::uint64_t bytes = element_size(*dtype);
        const std::optional<std::uint64_t> elements = reach(facts->sizes, facts->strides);
        const std::uint64_t offset = static_cast<std::uint64_t>(raw.storage_offset);
        const std::uint64_t in_storage = static_cast<std::uint64_t>(raw.storage_bytes) / bytes;
        const bool lies_inside = elements && (*elements == 0 || lies_within(offset, *elements, in_storage));
        if (!lies_inside) facts->unmeasured = "it reaches beyond its storage";
        if (lies_inside && !can_apply(raw.bits, *dtype))
            facts->unmeasured =
                "it has PyTorch's negative bit, which is supported for floating-point dtypes only";
        if (lies_inside && facts->place == Place::cuda &&
            collapse(facts->sizes, facts->strides).rank > kMostDims)
            facts->unmeasured = "it has more dimensions than the library can measure on a device";
        facts->has_known_bytes = lies_inside;
        facts->covered_bytes = lies_inside ? *elements * bytes : 0;
        if (facts->unmeasured.empty() && facts->place == Place::cuda) {
            facts->is_on_device = facts->count != 0;
            prepare_jobs(raw, *facts);
        }
    }
    known_[place] = {hash, raw.dtype_code, raw.device_type, std::move(facts)};
    ++used_;
    place_of_last = static_cast<std::uint16_t>(place);
    return known_[place].facts.get();
}

bool TensorReader::read(const ShimApi& api, TensorHandle handle, SeenTensor& seen) {
    seen = {};
    if (!api.has_tensor(handle)) return false;
    Raw raw;
    std::int64_t rank = 0;
    const std::int64_t* sizes = nullptr;
    const std::int64_t* strides = nullptr;
    if (api.dim(handle, &rank) != 0 || rank < 0 || rank > kMaxRank) return false;
    if (api.sizes(handle, &sizes) != 0 || api.dtype(handle, &raw.dtype_code) != 0) return false;
    if (api.device_type(handle, &raw.device_type) != 0) return false;
    if (api.device_index != nullptr && api.device_index(handle, &raw.device_index) != 0) return false;
    raw.sizes = {sizes, static_cast<std::size_t>(rank)};
    const std::optional<bool> is_strided = api.is_strided(handle);
    if (!is_strided) return false;
    raw.is_strided = *is_strided;
    if (raw.is_strided) {
        if (api.strides(handle, &strides) != 0) return false;
        raw.strides = {strides, static_cast<std::size_t>(rank)};
        if (api.storage_offset != nullptr && api.storage_offset(handle, &raw.storage_offset) != 0)
            raw.storage_offset = -1;
        if (api.storage_size == nullptr)
            raw.storage_bytes = needed_storage(api, raw);
        else if (api.storage_size(handle, &raw.storage_bytes) != 0)
            raw.storage_bytes = -1;
        raw.bits = api.math_bits(handle);
    }
    seen.facts = facts_of(api, handle, raw);
    void* data = nullptr;
    if (raw.is_strided && seen.facts->count != 0 && api.data_ptr(handle, &data) == 0)
        seen.address = reinterpret_cast<std::uint64_t>(data);
    return true;
}

void TensorReader::forget() {
    for (KnownTensor& known : known_) {
        if (known.facts != nullptr) forgotten_.push_back(std::move(known.facts));
    }
    used_ = 0;
}

std::vector<FactsPtr> TensorReader::take_all() {
    forget();
    return take_forgotten();
}

SeenTensor TensorReader::only_address(std::uint64_t address) {
    static const auto* facts = [] {
        auto* made = new SeenFacts;
        made->dtype = "unknown";
        made->device = "cuda";
        made->sizes_known = false;
        made->is_strided = false;
        made->is_contiguous = false;
        made->unmeasured = "only its address is known";
        return made;
    }();
    return {address, facts};
}

}  // namespace aoti_dbg
