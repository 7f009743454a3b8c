// CRC-32 as arithmetic: a message is a polynomial over GF(2), and its checksum is the remainder modulo P.
// Bits are reflected: the highest bit of a word is the coefficient of x^0. "Register" means a checksum before
// its final inversion.
//
// Folding replaces 128 bits that precede others by D bits with 128 bits in the others' place. This works
// because high * x^(D+64) + low * x^D equals high * (x^(D+64) mod P) + low * (x^D mod P) modulo P. The result
// is 16 bytes with the checksum of the whole message. (Gopal and others, "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel 2009.)
#include "serializer/crc32.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace aoti_dbg {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kPolynomial = 0xedb88320;
constexpr std::uint32_t kOne = 1U << 31U;

constexpr std::uint32_t times_x(std::uint32_t a) {
    return (a >> 1U) ^ ((a & 1U) != 0 ? kPolynomial : 0);
}

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (std::uint32_t bit = kOne; bit != 0; bit >>= 1U) {
        if ((a & bit) != 0) product ^= b;
        b = times_x(b);
    }
    return product;
}

/// x^(2^n)
constexpr std::array<std::uint32_t, 67> kSquares = [] {
    std::array<std::uint32_t, 67> squares{};
    squares[0] = times_x(kOne);
    for (std::size_t n = 1; n < squares.size(); ++n)
        squares[n] = multiply(squares[n - 1], squares[n - 1]);
    return squares;
}();

/// Returns x^(8 * bytes), the factor that `bytes` more bytes apply to a register.
constexpr std::uint32_t shift_of_bytes(std::uint64_t bytes) {
    std::uint32_t power = kOne;
    for (std::size_t n = 3; bytes != 0; ++n, bytes >>= 1U)
        if ((bytes & 1U) != 0) power = multiply(power, kSquares[n]);
    return power;
}

/// Row k is the effect of a byte on the register k bytes later.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;
constexpr Tables kTables = [] {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t row = byte;
        for (int bit = 0; bit < 8; ++bit)
            row = times_x(row);
        tables[0][byte] = row;
    }
    for (std::size_t k = 1; k < tables.size(); ++k)
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t row = tables[k - 1][byte];
            tables[k][byte] = (row >> 8U) ^ tables[0][row & 0xffU];
        }
    return tables;
}();

std::uint32_t update_by_tables(std::uint32_t state, const std::byte* at, std::size_t bytes) {
    for (; bytes >= 8; at += 8, bytes -= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        word ^= state;
        state = 0;
        for (std::size_t k = 0; k < 8; ++k)
            state ^= kTables[7 - k][(word >> (8 * k)) & 0xffU];
    }
    for (; bytes > 0; ++at, --bytes)
        state = (state >> 8U) ^ kTables[0][(state ^ static_cast<std::uint32_t>(*at)) & 0xffU];
    return state;
}

#if defined(__x86_64__)
#define AOTI_DBG_FOLDING __attribute__((target("pclmul,sse4.1")))

/// Returns x^bits mod P in the form that the multiplication takes. The product of reflected numbers is one
/// bit short, hence the shift. The factor's 32 bits are at the low end of 64, so the power is 32 less.
constexpr std::int64_t fold_factor(std::uint32_t bits) {
    std::uint32_t power = kOne;
    for (bits -= 32; bits > 0; --bits)
        power = times_x(power);
    return static_cast<std::int64_t>(std::uint64_t{power} << 1U);
}

constexpr std::size_t kLane = 16;
constexpr std::size_t kLanes = 8;  // multiplications take 3 to 7 clocks, and one can start each clock
constexpr std::size_t kStride = kLane * kLanes;

struct Factors {
    std::int64_t first;   // for the first 64 bits in the message
    std::int64_t second;  // for the 64 bits after them
};
constexpr Factors factors_over(std::size_t bytes) {
    const auto bits = static_cast<std::uint32_t>(8 * bytes);
    return {fold_factor(bits + 64), fold_factor(bits)};
}

AOTI_DBG_FOLDING inline __m128i load(const std::byte* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

AOTI_DBG_FOLDING inline __m128i fold(__m128i lane, __m128i factors, __m128i onto) {
    const __m128i first = _mm_clmulepi64_si128(lane, factors, 0x00);
    const __m128i second = _mm_clmulepi64_si128(lane, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(first, second), onto);
}

/// `bytes` must be at least kStride.
AOTI_DBG_FOLDING std::uint32_t update_by_folding(std::uint32_t state, const std::byte* at,
                                                 std::size_t bytes) {
    constexpr Factors kOverStride = factors_over(kStride);
    constexpr Factors kOverLane = factors_over(kLane);
    const __m128i over_stride = _mm_set_epi64x(kOverStride.second, kOverStride.first);
    const __m128i over_lane = _mm_set_epi64x(kOverLane.second, kOverLane.first);

    __m128i lanes[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i)
        lanes[i] = load(at + kLane * i);
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(state)));
    for (at += kStride, bytes -= kStride; bytes >= kStride; at += kStride, bytes -= kStride)
        for (std::size_t i = 0; i < kLanes; ++i)
            lanes[i] = fold(lanes[i], over_stride, load(at + kLane * i));

    __m128i all = lanes[0];
    for (std::size_t i = 1; i < kLanes; ++i)
        all = fold(all, over_lane, lanes[i]);
    for (; bytes >= kLane; at += kLane, bytes -= kLane)
        all = fold(all, over_lane, load(at));
    std::byte rest[kLane];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), all);
    return update_by_tables(update_by_tables(0, rest, kLane), at, bytes);
}
#endif

}  // namespace

bool crc32_can_fold() {
#if defined(__x86_64__)
    // Another library's constructor may call this before the compiler's own CPU detection has run.
    __builtin_cpu_init();
    return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
#else
    return false;
#endif
}

std::uint32_t crc32_by_tables(std::uint32_t crc_so_far, std::span<const std::byte> bytes) {
    return ~update_by_tables(~crc_so_far, bytes.data(), bytes.size());
}

std::uint32_t crc32_by_folding(std::uint32_t crc_so_far, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
    if (bytes.size() >= kStride && crc32_can_fold()) {
        return ~update_by_folding(~crc_so_far, bytes.data(), bytes.size());
    }
#endif
    return crc32_by_tables(crc_so_far, bytes);
}

std::uint32_t crc32(std::uint32_t crc_so_far, std::span<const std::byte> bytes) {
    return crc32_by_folding(crc_so_far, bytes);
}

std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second, std::uint64_t bytes_of_second) {
    return multiply(first, shift_of_bytes(bytes_of_second)) ^ second;
}

std::uint32_t crc32_of_zeros(std::uint64_t bytes) {
    return ~multiply(~std::uint32_t{0}, shift_of_bytes(bytes));
}

}  // namespace aoti_dbg
