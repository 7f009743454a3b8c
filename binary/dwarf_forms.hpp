// The encodings of values in DWARF 2 to 5 (DWARF 5, section 7.5.6), which `.debug_info` and `.debug_line`
// share.
#pragma once

#include <cstdint>

namespace aoti_dbg::dwarf {

/// DW_FORM_*.
enum Form : std::uint16_t {
    kAddress = 0x01,
    kBlock2 = 0x03,
    kBlock4 = 0x04,
    kData2 = 0x05,
    kData4 = 0x06,
    kData8 = 0x07,
    kString = 0x08,
    kBlock = 0x09,
    kBlock1 = 0x0a,
    kData1 = 0x0b,
    kFlag = 0x0c,
    kSigned = 0x0d,
    kStringOffset = 0x0e,
    kUnsigned = 0x0f,
    kReferenceAddress = 0x10,
    kReference1 = 0x11,
    kReference2 = 0x12,
    kReference4 = 0x13,
    kReference8 = 0x14,
    kReference = 0x15,
    kIndirect = 0x16,
    kSectionOffset = 0x17,
    kExpression = 0x18,
    kFlagPresent = 0x19,
    kStringIndex = 0x1a,
    kAddressIndex = 0x1b,
    kReferenceSupplement4 = 0x1c,
    kStringSupplement = 0x1d,
    kData16 = 0x1e,
    kLineStringOffset = 0x1f,
    kReferenceSignature = 0x20,
    kImplicitConstant = 0x21,
    kLocationListIndex = 0x22,
    kRangeListIndex = 0x23,
    kReferenceSupplement8 = 0x24,
    kStringIndex1 = 0x25,
    kStringIndex2 = 0x26,
    kStringIndex3 = 0x27,
    kStringIndex4 = 0x28,
    kAddressIndex1 = 0x29,
    kAddressIndex2 = 0x2a,
    kAddressIndex3 = 0x2b,
    kAddressIndex4 = 0x2c,
};

}  // namespace aoti_dbg::dwarf
