/** Chip data, tracks, card numbers and payment codes: reading, checking, masking. */
export * from './chip.ts';
export * from './errors.ts';
export * from './free-text.ts';
export * from './issuer-response.ts';
export * from './pan.ts';
export * from './qr/index.ts';
export * from './schemes.ts';
export * from './tags.ts';
export { caKeyCheckSum } from './terminal-parameters/ca-key.ts';
export * from './terminal-parameters/defaults.ts';
export * from './terminal-parameters/rules.ts';
export * from './terminal-parameters/schema.ts';
export * from './terminal-parameters/test-ca-keys.ts';
export * from './tlv.ts';
export * from './track2.ts';
