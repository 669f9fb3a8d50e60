/** The codes that are scanned: by a consumer from a merchant, and by a merchant from a consumer. */

export * from './consumer-code.ts';
export * from './crc16.ts';
export * from './merchant-code.ts';
export * from './wallet-code.ts';
