/** Chip data, tracks, card numbers and payment codes: reading, checking, masking. */

export * from './card-numbers-in-text.ts';
export * from './card-schemes.ts';
export * from './chip-data.ts';
export * from './emv-tags.ts';
export * from './errors.ts';
export * from './issuer-response.ts';
export * from './pan.ts';
export * from './qr/consumer-code.ts';
export * from './qr/crc16.ts';
export * from './qr/merchant-code.ts';
export * from './qr/wallet-barcode.ts';
export { caKeyCheckSum } from './terminal-parameters/check-ca-key.ts';
export * from './terminal-parameters/check-parameters.ts';
export * from './terminal-parameters/terminal-parameters.ts';
export * from './terminal-parameters/test-ca-keys.ts';
export * from './tlv.ts';
export * from './track2.ts';
