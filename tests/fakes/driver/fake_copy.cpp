// Copies and sets, including rows. Arrays are linear memory here.
#include <cstring>
#include <utility>
#include <vector>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

struct Array {
    std::atomic<bool> alive{false};
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
};

Pool<Array, 256>& arrays() {
    static auto* instance = new Pool<Array, 256>;
    return *instance;
}

std::byte* at(std::uint64_t address) {
    return reinterpret_cast<std::byte*>(address);
}

/// Moves bytes, except in a broken context: its waiters already have the error and may have freed the memory.
CUresult transfer(CUstream stream, bool per_thread, bool wait, std::function<void()> work,
                  const DriverKernel& kernel) {
    const auto unless_dead = [context = current_context(), work = std::move(work)] {
        if (context->sticky.load(std::memory_order_acquire) == 0) work();
    };
    return enqueue(stream, per_thread, wait, unless_dead, kernel);
}

/// Behaves like an H100: a copy within one device uses a kernel, whatever the call, and a copy between
/// devices does not.
DriverKernel kernel_of_copy(std::uint64_t to, std::uint64_t from) {
    Context* const there = context_of_memory(to);
    const Context* const here = context_of_memory(from);
    return {there != nullptr && here != nullptr && there->device == here->device, there};
}

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, bool per_thread,
              bool wait) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (to == 0 || from == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!wait && is_known(to, bytes) && !is_known(from, bytes)) {
        // The call reads pageable memory before it returns.
        std::vector<std::byte> staged(at(from), at(from) + bytes);
        return transfer(
            stream, per_thread, wait,
            [to, staged = std::move(staged)] { std::memcpy(at(to), staged.data(), staged.size()); }, {});
    }
    return transfer(
        stream, per_thread, wait, [=] { std::memmove(at(to), at(from), bytes); }, kernel_of_copy(to, from));
}

template <typename Unit>
CUresult set(CUdeviceptr to, std::size_t pitch, Unit value, std::size_t width, std::size_t height,
             CUstream stream, bool per_thread) {
    if (width == 0 || height == 0) return CUDA_SUCCESS;
    if (to % sizeof(Unit) != 0 || (height > 1 && pitch < width * sizeof(Unit)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_known(to, (height - 1) * pitch + width * sizeof(Unit))) return CUDA_ERROR_INVALID_VALUE;
    // On an H100, a small set uses no kernel unless its rows have gaps.
    const bool has_gaps = height > 1 && pitch != width * sizeof(Unit);
    const bool by_kernel = has_gaps || width * height * sizeof(Unit) > 4096;
    const auto work = [=] {
        for (std::size_t row = 0; row < height; ++row) {
            auto* units = reinterpret_cast<Unit*>(at(to + row * pitch));
            for (std::size_t i = 0; i < width; ++i)
                units[i] = value;
        }
    };
    return transfer(stream, per_thread, false, work, {by_kernel, nullptr});
}

/// One side of a copy of rows: its first byte, and the distances to the next row and slice.
struct Side {
    std::uint64_t address = 0;
    std::size_t pitch = 0;
    std::size_t slice = 0;
};

CUresult find_side(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array, Side& side) {
    switch (type) {
        case CU_MEMORYTYPE_HOST:
            side.address += reinterpret_cast<std::uint64_t>(host);
            return host == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        case CU_MEMORYTYPE_DEVICE:
        case CU_MEMORYTYPE_UNIFIED:
            side.address += device;
            return device == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        case CU_MEMORYTYPE_ARRAY: {
            const Array* place = arrays().check(array);
            if (place == nullptr) return CUDA_ERROR_INVALID_HANDLE;
            side.address += place->address;
            return CUDA_SUCCESS;
        }
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

struct Rows {
    Side to;
    Side from;
    std::size_t width = 0;
    std::size_t height = 0;
    std::size_t depth = 0;
};

CUresult copy_rows(const Rows& rows, CUstream stream, bool per_thread, bool wait) {
    if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return CUDA_SUCCESS;
    if (rows.height > 1 && (rows.to.pitch < rows.width || rows.from.pitch < rows.width))
        return CUDA_ERROR_INVALID_VALUE;
    const auto work = [rows] {
        for (std::size_t z = 0; z < rows.depth; ++z) {
            for (std::size_t y = 0; y < rows.height; ++y) {
                std::memmove(at(rows.to.address + z * rows.to.slice + y * rows.to.pitch),
                             at(rows.from.address + z * rows.from.slice + y * rows.from.pitch), rows.width);
            }
        }
    };
    return transfer(stream, per_thread, wait, work, kernel_of_copy(rows.to.address, rows.from.address));
}

/// Copies between the sides that the description names. `rows` has everything but the base addresses.
template <typename Given>
CUresult copy_rows_of(const Given& given, Rows rows, CUstream stream, bool per_thread, bool wait) {
    if (CUresult result =
            find_side(given.dstMemoryType, given.dstHost, given.dstDevice, given.dstArray, rows.to);
        result != CUDA_SUCCESS)
        return result;
    if (CUresult result =
            find_side(given.srcMemoryType, given.srcHost, given.srcDevice, given.srcArray, rows.from);
        result != CUDA_SUCCESS)
        return result;
    return copy_rows(rows, stream, per_thread, wait);
}

CUresult copy_2d(const CUDA_MEMCPY2D* given, CUstream stream, bool per_thread, bool wait) {
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Rows rows;
    rows.width = given->WidthInBytes;
    rows.height = given->Height;
    rows.depth = 1;
    rows.to.pitch = given->dstPitch != 0 ? given->dstPitch : rows.width;
    rows.from.pitch = given->srcPitch != 0 ? given->srcPitch : rows.width;
    rows.to.address = given->dstXInBytes + given->dstY * rows.to.pitch;
    rows.from.address = given->srcXInBytes + given->srcY * rows.from.pitch;
    return copy_rows_of(*given, rows, stream, per_thread, wait);
}

/// CUDA_MEMCPY3D and its variant between contexts.
template <typename Given>
CUresult copy_3d(const Given* given, CUstream stream, bool per_thread, bool wait) {
    if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Rows rows;
    rows.width = given->WidthInBytes;
    rows.height = given->Height;
    rows.depth = given->Depth;
    rows.to.pitch = given->dstPitch != 0 ? given->dstPitch : rows.width;
    rows.from.pitch = given->srcPitch != 0 ? given->srcPitch : rows.width;
    rows.to.slice = rows.to.pitch * (given->dstHeight != 0 ? given->dstHeight : rows.height);
    rows.from.slice = rows.from.pitch * (given->srcHeight != 0 ? given->srcHeight : rows.height);
    rows.to.address = given->dstXInBytes + given->dstY * rows.to.pitch + given->dstZ * rows.to.slice;
    rows.from.address = given->srcXInBytes + given->srcY * rows.from.pitch + given->srcZ * rows.from.slice;
    return copy_rows_of(*given, rows, stream, per_thread, wait);
}

CUresult copy_array(CUarray handle, std::size_t offset, CUdeviceptr other, std::size_t bytes, bool into,
                    bool per_thread) {
    const Array* array = arrays().check(handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (offset > array->bytes || bytes > array->bytes - offset || !is_known(other, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    const std::uint64_t place = array->address + offset;
    return into ? copy(place, other, bytes, nullptr, per_thread, true)
                : copy(other, place, bytes, nullptr, per_thread, true);
}

std::size_t format_size(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4;
        default:
            return 0;
    }
}

}  // namespace

CUresult enqueue(CUstream handle, bool per_thread, bool wait, std::function<void()> work,
                 const DriverKernel& kernel) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    // The stream may belong to another context than the thread's.
    if (const Stream* const made = pools().streams.check(handle); made != nullptr) context = made->context;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS)
        return result;
    if (wait) {
        if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    }
    if (stream->captures && kernel.is_there)
        return capture_kernel(stream, [work = std::move(work)](std::uint64_t) { work(); });
    if (stream->captures) return capture_task(stream, std::move(work));
    if (CUresult result = implicit_during_capture(stream); result != CUDA_SUCCESS) return result;
    if (kernel.is_there) {
        const bool is_elsewhere = kernel.memory != nullptr && kernel.memory->device != context->device;
        ++(is_elsewhere ? kernel.memory : context)->grids;
    }
    const std::uint64_t ticket = submit_in_order(stream, std::move(work));
    if (!wait) return CUDA_SUCCESS;
    stream->queue->wait(ticket);
    return static_cast<CUresult>(context->sticky.load());
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* description) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    if (out == nullptr || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t height = description->Height == 0 ? 1 : description->Height;
    const std::size_t bytes =
        description->Width * height * description->NumChannels * format_size(description->Format);
    std::uintptr_t address = 0;
    if (CUresult result = allocate(address, bytes, Kind::device, context); result != CUDA_SUCCESS)
        return result;
    Array* array = arrays().take();
    if (array == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    array->address = address;
    array->bytes = bytes;
    array->alive.store(true, std::memory_order_release);
    *out = reinterpret_cast<CUarray>(array);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuArrayDestroy(CUarray handle) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    Array* array = arrays().check(handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    synchronize_context(context);
    const CUresult result = release(array->address, Kind::device);
    arrays().give_back(array);
    return result;
}

#define FAKE_COPY_FUNCTIONS(ptds, ptsz, per_thread)                                                   \
    FAKE_API CUresult cuMemcpyHtoD_v2##ptds(CUdeviceptr to, const void* from, std::size_t bytes) {    \
        if (!is_known(to, bytes)) return CUDA_ERROR_INVALID_VALUE;                                    \
        return copy(to, reinterpret_cast<CUdeviceptr>(from), bytes, nullptr, per_thread, true);       \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoH_v2##ptds(void* to, CUdeviceptr from, std::size_t bytes) {          \
        if (!is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;                                  \
        return copy(reinterpret_cast<CUdeviceptr>(to), from, bytes, nullptr, per_thread, true);       \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoD_v2##ptds(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {    \
        if (!is_known(to, bytes) || !is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;          \
        return copy(to, from, bytes, nullptr, per_thread, false);                                     \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoA_v2##ptds(CUarray to, std::size_t offset, CUdeviceptr from,         \
                                            std::size_t bytes) {                                      \
        return copy_array(to, offset, from, bytes, true, per_thread);                                 \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyAtoD_v2##ptds(CUdeviceptr to, CUarray from, std::size_t offset,         \
                                            std::size_t bytes) {                                      \
        return copy_array(from, offset, to, bytes, false, per_thread);                                \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy##ptds(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {           \
        return copy(to, from, bytes, nullptr, per_thread, true);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyPeer##ptds(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext,      \
                                         std::size_t bytes) {                                         \
        if (!is_known(to, bytes) || !is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;          \
        return copy(to, from, bytes, nullptr, per_thread, false);                                     \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy2D_v2##ptds(const CUDA_MEMCPY2D* rows) {                                \
        return copy_2d(rows, nullptr, per_thread, true);                                              \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy2DUnaligned_v2##ptds(const CUDA_MEMCPY2D* rows) {                       \
        return copy_2d(rows, nullptr, per_thread, true);                                              \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy3D_v2##ptds(const CUDA_MEMCPY3D* rows) {                                \
        return copy_3d(rows, nullptr, per_thread, true);                                              \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy3DPeer##ptds(const CUDA_MEMCPY3D_PEER* rows) {                          \
        return copy_3d(rows, nullptr, per_thread, true);                                              \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyHtoDAsync_v2##ptsz(CUdeviceptr to, const void* from, std::size_t bytes, \
                                                 CUstream stream) {                                   \
        if (!is_known(to, bytes)) return CUDA_ERROR_INVALID_VALUE;                                    \
        return copy(to, reinterpret_cast<CUdeviceptr>(from), bytes, stream, per_thread, false);       \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoHAsync_v2##ptsz(void* to, CUdeviceptr from, std::size_t bytes,       \
                                                 CUstream stream) {                                   \
        if (!is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;                                  \
        return copy(reinterpret_cast<CUdeviceptr>(to), from, bytes, stream, per_thread, false);       \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyDtoDAsync_v2##ptsz(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, \
                                                 CUstream stream) {                                   \
        if (!is_known(to, bytes) || !is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;          \
        return copy(to, from, bytes, stream, per_thread, false);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyAsync##ptsz(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,        \
                                          CUstream stream) {                                          \
        return copy(to, from, bytes, stream, per_thread, false);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpyPeerAsync##ptsz(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, \
                                              std::size_t bytes, CUstream stream) {                   \
        if (!is_known(to, bytes) || !is_known(from, bytes)) return CUDA_ERROR_INVALID_VALUE;          \
        return copy(to, from, bytes, stream, per_thread, false);                                      \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy2DAsync_v2##ptsz(const CUDA_MEMCPY2D* rows, CUstream stream) {          \
        return copy_2d(rows, stream, per_thread, false);                                              \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy3DAsync_v2##ptsz(const CUDA_MEMCPY3D* rows, CUstream stream) {          \
        return copy_3d(rows, stream, per_thread, false);                                              \
    }                                                                                                 \
    FAKE_API CUresult cuMemcpy3DPeerAsync##ptsz(const CUDA_MEMCPY3D_PEER* rows, CUstream stream) {    \
        return copy_3d(rows, stream, per_thread, false);                                              \
    }

FAKE_COPY_FUNCTIONS(, , false)
FAKE_COPY_FUNCTIONS(_ptds, _ptsz, true)

// cuMemsetD8_v2 and its variants: units of one size, linear and in rows, at once and on a stream.
#define FAKE_SET_FUNCTIONS(bits, Unit, ptds, ptsz, per_thread)                                      \
    FAKE_API CUresult cuMemsetD##bits##_v2##ptds(CUdeviceptr to, Unit value, std::size_t count) {   \
        return set(to, 0, value, count, 1, nullptr, per_thread);                                    \
    }                                                                                               \
    FAKE_API CUresult cuMemsetD2D##bits##_v2##ptds(CUdeviceptr to, std::size_t pitch, Unit value,   \
                                                   std::size_t width, std::size_t height) {         \
        return set(to, pitch, value, width, height, nullptr, per_thread);                           \
    }                                                                                               \
    FAKE_API CUresult cuMemsetD##bits##Async##ptsz(CUdeviceptr to, Unit value, std::size_t count,   \
                                                   CUstream stream) {                               \
        return set(to, 0, value, count, 1, stream, per_thread);                                     \
    }                                                                                               \
    FAKE_API CUresult cuMemsetD2D##bits##Async##ptsz(CUdeviceptr to, std::size_t pitch, Unit value, \
                                                     std::size_t width, std::size_t height,         \
                                                     CUstream stream) {                             \
        return set(to, pitch, value, width, height, stream, per_thread);                            \
    }

FAKE_SET_FUNCTIONS(8, unsigned char, , , false)
FAKE_SET_FUNCTIONS(16, unsigned short, , , false)
FAKE_SET_FUNCTIONS(32, unsigned int, , , false)
FAKE_SET_FUNCTIONS(8, unsigned char, _ptds, _ptsz, true)
FAKE_SET_FUNCTIONS(16, unsigned short, _ptds, _ptsz, true)
FAKE_SET_FUNCTIONS(32, unsigned int, _ptds, _ptsz, true)
