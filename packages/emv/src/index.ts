/** Chip data, tracks and card numbers: reading, checking, masking. */
export * from './chip.ts';
export * from './errors.ts';
export * from './issuer-response.ts';
export * from './pan.ts';
export * from './schemes.ts';
export * from './tags.ts';
export * from './tlv.ts';
export * from './track2.ts';
