// Encodes the key of a settlement as its identifier, and decodes it.

export type SettlementKey = {
  readonly day: string;
  readonly acquirerLinkId: string;
  readonly merchantId: string;
  readonly currency: string;
};

const dayMs = 86_400_000;
/**
 * The last day with a year of four digits; PostgreSQL and ISO 8601 write later years differently.
 */
const lastDay = Date.parse('9999-12-31') / dayMs;
const idBytes = 38;
const idForm = /^[A-Za-z0-9_-]{51}$/;
const currencyForm = /^[A-Z]{3}$/;

const uuidBytes = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex');

function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** @example settlementId({ day: '2026-03-01', acquirerLinkId, merchantId, currency: 'EUR' }); */
export function settlementId({ day, acquirerLinkId, merchantId, currency }: SettlementKey): string {
  const days = Buffer.alloc(3);
  days.writeUIntBE(Date.parse(day) / dayMs, 0, 3);
  const all = [days, uuidBytes(acquirerLinkId), uuidBytes(merchantId), Buffer.from(currency)];
  return Buffer.concat(all).toString('base64url');
}

/** Returns undefined if the text is no settlement identifier. */
export function settlementKey(id: string): SettlementKey | undefined {
  if (!idForm.test(id)) return undefined;
  const bytes = Buffer.from(id, 'base64url');
  const currency = bytes.subarray(35).toString('latin1');
  if (bytes.length !== idBytes || !currencyForm.test(currency)) return undefined;
  const days = bytes.readUIntBE(0, 3);
  if (days > lastDay) return undefined;
  const key = {
    day: new Date(days * dayMs).toISOString().slice(0, 10),
    acquirerLinkId: uuidText(bytes.subarray(3, 19)),
    merchantId: uuidText(bytes.subarray(19, 35)),
    currency,
  };
  return settlementId(key) === id ? key : undefined;
}

/** The form of a settlement identifier in a cursor. */
export const settlementIdForm = { test: (id: string) => settlementKey(id) !== undefined };
