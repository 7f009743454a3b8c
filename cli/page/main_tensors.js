// The statistics of one tensor on each side of each call, for calls without details. A number is three
// characters of base64: the first 18 bits of a float, which hold three digits.

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PACKED_DIGITS = 3;
const UNKNOWN_CODE = 0x3ffff;

// By the code of a character.
const SIXTH_BITS = new Int8Array(128).fill(-1);
[...BASE64].forEach((character, index) => {
    SIXTH_BITS[character.charCodeAt(0)] = index;
});
const FLOAT = new DataView(new ArrayBuffer(4));

function unpacked(packed, index) {
    let code = 0;
    for (let at = index * 3; at < index * 3 + 3; ++at) {
        const bits = SIXTH_BITS[packed.charCodeAt(at)] ?? -1;
        if (bits < 0) return null;
        code = code * 64 + bits;
    }
    if (code === UNKNOWN_CODE) return null;
    FLOAT.setUint32(0, code * 2 ** 14);
    const value = FLOAT.getFloat32(0);
    return Number.isFinite(value) ? value : String(value);
}

class MainTensors {
    constructor(main, length) {
        this.sides = {};
        for (const side of ['before', 'after']) {
            const {numbers, nan, inf} = (main || {})[side] || {};
            this.sides[side] = {
                numbers: typeof numbers === 'string' ? numbers : '',
                nan: column(decoded(nan), length, -1),
                inf: column(decoded(inf), length, 0)
            };
        }
    }

    // As a tensor of the details, of an unknown argument.
    tensor(row, side) {
        const {numbers, nan, inf} = this.sides[side];
        if (!(nan[row] >= 0)) return null;
        const moments = [0, 1, 2, 3].map((index) => unpacked(numbers, row * 4 + index));
        return [-1, -1, ...moments, null, nan[row], inf[row], -1];
    }
}
