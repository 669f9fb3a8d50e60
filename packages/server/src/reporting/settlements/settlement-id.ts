// Encodes the key of a settlement as its identifier, and decodes it.
import { bytesToUuid, dayMs, isoDay, uuidToBytes } from '../../platform/index.ts';

export type SettlementKey = {
  readonly day: string;
  readonly acquirerLinkId: string;
  readonly merchantId: string;
  readonly currency: string;
};

/**
 * The last day with a year of four digits; PostgreSQL and ISO 8601 write later years differently.
 */
const lastDay = Date.parse('9999-12-31') / dayMs;
const idBytes = 38;
const idPattern = /^[A-Za-z0-9_-]{51}$/;
const currencyPattern = /^[A-Z]{3}$/;

/** @example encodeSettlementId({ day: '2026-03-01', acquirerLinkId, merchantId, currency: 'EUR' }); */
export function encodeSettlementId({
  day,
  acquirerLinkId,
  merchantId,
  currency,
}: SettlementKey): string {
  const days = Buffer.alloc(3);
  days.writeUIntBE(Date.parse(day) / dayMs, 0, 3);
  const all = [days, uuidToBytes(acquirerLinkId), uuidToBytes(merchantId), Buffer.from(currency)];
  return Buffer.concat(all).toString('base64url');
}

/** Returns undefined if the text is no settlement identifier. */
export function decodeSettlementId(id: string): SettlementKey | undefined {
  if (!idPattern.test(id)) return undefined;
  const bytes = Buffer.from(id, 'base64url');
  const currency = bytes.subarray(35).toString('latin1');
  if (bytes.length !== idBytes || !currencyPattern.test(currency)) return undefined;
  const days = bytes.readUIntBE(0, 3);
  if (days > lastDay) return undefined;
  const key = {
    day: isoDay(days * dayMs),
    acquirerLinkId: bytesToUuid(bytes.subarray(3, 19)),
    merchantId: bytesToUuid(bytes.subarray(19, 35)),
    currency,
  };
  return encodeSettlementId(key) === id ? key : undefined;
}

/** The form of a settlement identifier in a cursor. */
export const settlementIdFormat = { test: (id: string) => decodeSettlementId(id) !== undefined };
