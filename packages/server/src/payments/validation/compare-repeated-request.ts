// Compares a repeated request with the first one under the same identifier. Pure.
import { defined, isObject, type ProcessRequest, throwProblem } from '@switchyard/contract';
import type { SaleEntityIds } from '../../provisioning/index.ts';
import type { Vault } from '../../vault/index.ts';

/** Hex digits of the keyed card hash that are stored (of 64). */
const cardFingerprintDigits = 32;

/**
 * The members that distinguish two requests with the same identifier. Card, cardholder and address are keyed
 * hashes, so that no card data or personal data is stored.
 */
export function createRequestMembers(
  { computeDigest: digest }: Pick<Vault, 'computeDigest'>,
  request: ProcessRequest,
  { storeId, deviceId }: SaleEntityIds,
  cardFingerprint: string,
): Record<string, unknown> {
  const {
    instrument: { card, address },
    clientTransactionId: _id,
    merchantId: _merchant,
    // Limits the arrival, and does not describe the sale: a repetition can have a later time.
    notAfter: _notAfter,
    zipCode,
    houseNumber,
    ksn: _ksn,
    pinblock: _pinBlock,
    pinblockFormat: _pinFormat,
    ...members
  } = request;
  const instrument = [cardFingerprint.slice(0, cardFingerprintDigits)];
  if (card?.holderName !== undefined) instrument.push(digest(card.holderName));
  if (address !== undefined)
    instrument.push(digest(JSON.stringify([address.email, address.phone])));
  return {
    ...members,
    storeId,
    deviceId,
    instrument: instrument.join('|'),
    ...defined({
      zipCode: zipCode && digest(zipCode),
      houseNumber: houseNumber && digest(houseNumber),
    }),
  };
}

/** The hashes of the cardholder's name and address follow the hash of the card. */
export const cardFingerprintFrom = (members: Record<string, unknown>): string =>
  String(members['instrument']).split('|')[0] ?? '';

const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    isObject(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  ) ?? 'null';

export function differingMembers(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
): string[] {
  const memberNames = new Set([...Object.keys(first), ...Object.keys(second)]);
  return [...memberNames]
    .filter((name) => canonicalJson(first[name]) !== canonicalJson(second[name]))
    .sort();
}

/** @throws ProblemError client_id_reused with the names, not the values, of the members that differ */
export function throwIdentifierReused(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
  identifierName: 'clientTransactionId' | 'clientOperationId',
): void {
  const memberNames = differingMembers(first, second);
  if (memberNames.length === 0) return;
  const code = 'client_id_reused';
  const detail = 'Differs from the first request.';
  throwProblem(code, `This ${identifierName} was used for a different request.`, {
    errors: memberNames.map((name) => ({ pointer: `/${name}`, code, detail })),
  });
}
