// Compares a repeated request with the first one under the same identifier. Pure.
import { defined, type ProcessRequest, refuse } from '@switchyard/contract';

/** Members that distinguish two requests with the same identifier. */
export function createRequestFingerprint(
  request: ProcessRequest,
  identity: {
    storeId: string | undefined;
    deviceId: string | undefined;
    /** Keyed hashes: they tell two cards or names apart, and give neither away. */
    card: string;
    holder?: string;
    /** Of a mail or telephone order. */
    address?: string;
    zipCode?: string;
    houseNumber?: string;
  },
): Record<string, unknown> {
  const {
    instrument: _instrument,
    clientTransactionId: _id,
    merchantId: _merchant,
    zipCode: _zip,
    houseNumber: _house,
    ksn: _ksn,
    pinblock: _pinBlock,
    pinblockFormat: _pinFormat,
    ...members
  } = request;
  return {
    ...members,
    storeId: identity.storeId,
    deviceId: identity.deviceId,
    instrument: [identity.card, identity.holder, identity.address].filter(Boolean).join('|'),
    ...defined({ zipCode: identity.zipCode, houseNumber: identity.houseNumber }),
  };
}

/** The keyed hash of the card in a fingerprint; the cardholder's name and address follow it. */
export function cardFingerprintFrom(fingerprint: Record<string, unknown>): string {
  return String(fingerprint['instrument']).split('|')[0] ?? '';
}

const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  ) ?? 'null';

/** The names of the members in which two requests differ; never their values. */
export function differingMembers(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
): string[] {
  const memberNames = new Set([...Object.keys(first), ...Object.keys(second)]);
  return [...memberNames]
    .filter((name) => canonicalJson(first[name]) !== canonicalJson(second[name]))
    .sort();
}

/** @throws Refusal client_id_reused, naming the members that differ */
export function refuseIdentifierReuse(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
  identifierName: 'clientTransactionId' | 'clientOperationId',
): void {
  const memberNames = differingMembers(first, second);
  if (memberNames.length === 0) return;
  refuse('client_id_reused', `This ${identifierName} was used for a different request.`, {
    errors: memberNames.map((name) => ({
      pointer: `/${name}`,
      code: 'client_id_reused',
      detail: 'Differs from the first request.',
    })),
  });
}
