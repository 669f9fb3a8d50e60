// Validation of an offline sale before anything is stored. Pure.
import { fieldError, type OfflineData, type ProcessRequest, refuse } from '@switchyard/contract';
import type { OfflineLimits } from '../../provisioning/index.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import { differingMembers } from './request-fingerprint.ts';

/** A sale that the terminal has approved already. */
export type OfflineRequest = ProcessRequest & { offlineData: OfflineData };

/** Members that ask for what cannot be any more once the sale is made. */
const notAllowedMembers = [
  'confirmWithinSeconds',
  'purpose',
  'stepUpOf',
  'ksn',
  'pinblock',
  'pinblockFormat',
  'orderChannel',
] as const;

/** Faults of the members. @throws Refusal field_required, field_invalid */
export function validateOfflineSale(request: ProcessRequest): void {
  const { offlineTransaction = false, offlineData } = request;
  if (!offlineTransaction) {
    if (offlineData === undefined) return;
    refuse(
      'field_invalid',
      'offlineData requires offlineTransaction true.',
      fieldError('/offlineData', 'field_invalid', 'Only where offlineTransaction is true.'),
    );
  }
  if (offlineData === undefined) {
    refuse(
      'field_required',
      'An offline sale requires offlineData.',
      fieldError('/offlineData', 'field_required', 'Is required.'),
    );
  }
  const invalidMember =
    notAllowedMembers.find((name) => request[name] !== undefined) ?? notAllowedValue(request);
  if (invalidMember === undefined) return;
  refuse(
    'field_invalid',
    `${invalidMember} is not allowed with offlineTransaction.`,
    fieldError(`/${invalidMember}`, 'field_invalid', 'Not with offlineTransaction.'),
  );
}

function notAllowedValue(request: ProcessRequest): string | undefined {
  if (request.captureMode === 'Deferred') return 'captureMode';
  return request.partialApproval === true ? 'partialApproval' : undefined;
}

/** Clocks of terminals that lie less far apart than this are right. */
const clockSkewMs = 5 * 60_000;
const hourMs = 3_600_000;

/** When the sale was made, epoch ms; a leap second is the one after it. */
export function offlineSaleTime({ authorizedAt }: Pick<OfflineData, 'authorizedAt'>): number {
  return Date.parse(authorizedAt.replace(/:60(?=[.Zz+-])/, ':59'));
}

/** @throws Refusal field_invalid where the sale is yet to come */
export function checkNotInFuture(request: OfflineRequest, now: number): void {
  if (offlineSaleTime(request.offlineData) <= now + clockSkewMs) return;
  refuse(
    'field_invalid',
    'authorizedAt is in the future.',
    fieldError('/offlineData/authorizedAt', 'field_invalid', 'Lies in the future.'),
  );
}

/** The upper two bits of tag 9F27: the chip has approved the sale itself (EMV Book 3, 6.5.5.4). */
const cryptogramTypeMask = 0xc0;
const transactionCertificateBits = 0x40;

/** What the chip signed is that it approved. @throws Refusal emv_data_mismatch */
export function checkTransactionCertificate(card: PresentedCard): void {
  if (card.chipData === undefined) return;
  const cryptogramInformation = card.receiptChipTags?.['cryptogramInformation'] ?? '';
  const isApproval =
    (Number.parseInt(cryptogramInformation, 16) & cryptogramTypeMask) ===
    transactionCertificateBits;
  if (isApproval) return;
  refuse(
    'emv_data_mismatch',
    'The chip has not approved the sale offline.',
    fieldError('/instrument/emvData', 'emv_data_mismatch', 'Tag 9F27 must indicate a TC.'),
  );
}

/** What the contract allows. @throws Refusal offline_too_old, offline_limit_exceeded */
export function checkOfflineLimits(
  request: OfflineRequest,
  limits: OfflineLimits,
  now: number,
): void {
  if (now - offlineSaleTime(request.offlineData) > limits.maxAgeHours * hourMs) {
    refuse(
      'offline_too_old',
      `Offline sales are taken for ${limits.maxAgeHours} hours.`,
      fieldError('/offlineData/authorizedAt', 'offline_too_old', 'Longer ago than is taken.'),
    );
  }
  const { maxAmounts } = limits;
  const maxAmount = maxAmounts === undefined ? request.amount : (maxAmounts[request.currency] ?? 0);
  if (request.amount <= maxAmount) return;
  refuse(
    'offline_limit_exceeded',
    `${maxAmount} ${request.currency} minor units are taken offline.`,
    {
      ...fieldError('/amount', 'offline_limit_exceeded', 'More than is taken offline.'),
      extensions: { maxAmount },
    },
  );
}

/** @throws Refusal offline_limit_exceeded, always */
export function refuseCountExceeded(maxCount: number): never {
  return refuse(
    'offline_limit_exceeded',
    `${maxCount} offline sales are taken in 24 hours.`,
    fieldError(
      '/offlineData/terminalSequence',
      'offline_limit_exceeded',
      'One more than is taken.',
    ),
  );
}

/** What makes an offline sale the one that it is, under whatever identifier it is sent. */
export function offlineSaleIdentity(fingerprint: Record<string, unknown>): Record<string, unknown> {
  const { amount, currency, instrument } = fingerprint;
  const offlineData = fingerprint['offlineData'] as OfflineData;
  return {
    amount,
    currency,
    instrument,
    'offlineData/authorizedAt': offlineSaleTime(offlineData),
    'offlineData/authorizationCode': offlineData.authorizationCode,
  };
}

/** The members in which two uploads of one number are two sales; none where they are the same. */
export function differingSaleMembers(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
): string[] {
  return differingMembers(offlineSaleIdentity(first), offlineSaleIdentity(second));
}

/** Who counts, and under which name: see the table of uploads. */
export type OfflineSequence = {
  terminalOwnerId: string;
  /** The hardware, where it was named; of a sale without a device the sale itself. */
  sequenceScope: string;
  /** Whose numbers follow each other: a sale without a device leaves no gap behind. */
  isGapChecked: boolean;
};

/** @param saleDigest tells two sales apart where no device counts them */
export function offlineSequenceOf(
  location: { deviceId: string | undefined; contractId: string },
  { offlineData }: OfflineRequest,
  saleDigest: () => string,
): OfflineSequence {
  const { deviceId, contractId } = location;
  if (deviceId === undefined)
    return { terminalOwnerId: contractId, sequenceScope: saleDigest(), isGapChecked: false };
  return {
    terminalOwnerId: deviceId,
    sequenceScope: offlineData.serialNumber ?? '',
    isGapChecked: true,
  };
}
