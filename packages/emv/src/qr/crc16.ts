/** The check sum that ends a merchant-presented code. */

const polynomial = 0x1021;
const initial = 0xffff;
const topBit = 0x8000;

const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let register = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) {
    register = (register & topBit) === 0 ? register << 1 : (register << 1) ^ polynomial;
  }
  return register;
});

/**
 * CRC-16/CCITT-FALSE: polynomial 1021, initial value FFFF, nothing reflected.
 *
 * Source: ISO/IEC 13239; EMV QR Code Specification for Payment Systems, Merchant-Presented Mode 1.1,
 * section 4.7.3.
 *
 * @param bytes - what is summed up, in the order of its bytes
 * @returns 16 bits
 * @example
 * crc16(Buffer.from('123456789')).toString(16); // '29b1'
 */
export function crc16(bytes: Uint8Array): number {
  let register = initial;
  for (const byte of bytes) {
    register = ((register << 8) & 0xffff) ^ (table[(register >> 8) ^ byte] ?? 0);
  }
  return register;
}
