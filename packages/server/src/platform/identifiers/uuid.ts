// The text form of UUIDs: checks, order and bytes.

const uuidInAnyCase = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const uuidInLowerCase = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Before every other UUID, so that a list begins after it. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';

/** PostgreSQL reports an error for every other text in a comparison with a UUID. */
export const isUuid = (text: string): boolean => uuidInAnyCase.test(text);

/** The form that the platform writes. It is required where code compares identifiers as text. */
export const isLowerCaseUuid = (text: string): boolean => uuidInLowerCase.test(text);

/** The server's own identifiers have this version. */
export const isUuidV7 = (text: string): boolean => uuidV7.test(text);

export const uuidToBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

export function bytesToUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20, 32),
  ].join('-');
}

/** Not greater than any UUID version 7 of this millisecond or later. */
export function smallestUuidAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
