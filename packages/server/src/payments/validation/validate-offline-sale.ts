// Validation of an offline sale before anything is stored. Pure.
import {
  fieldError,
  type OfflineData,
  type ProcessRequest,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import { hourMs } from '../../platform/index.ts';
import type { OfflineLimits, SaleEntities } from '../../provisioning/index.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import {
  checkCardExpiry,
  checkCurrencyActive,
  checkNotAfter,
  parseRequestTime,
} from './check-sale-terms.ts';
import { differingMembers } from './compare-repeated-request.ts';

export type OfflineRequest = ProcessRequest & { offlineData: OfflineData };

/** Of a request that {@link validateOfflineSale} has accepted. */
export const isOfflineSale = <Sale extends { request: ProcessRequest }>(
  sale: Sale,
): sale is Sale & { request: OfflineRequest } => sale.request.offlineTransaction === true;

/** Members that have no effect after the terminal has approved the sale. */
const notAllowedMembers = [
  'confirmWithinSeconds',
  'purpose',
  'stepUpOf',
  'ksn',
  'pinblock',
  'pinblockFormat',
  'orderChannel',
] as const;

/** @throws ProblemError field_required, field_invalid */
export function validateOfflineSale(request: ProcessRequest): void {
  const { offlineTransaction = false, offlineData } = request;
  if (!offlineTransaction) {
    if (offlineData === undefined) return;
    throwFieldProblem(
      'field_invalid',
      '/offlineData',
      'offlineData requires offlineTransaction true.',
    );
  }
  if (offlineData === undefined) {
    throwFieldProblem('field_required', '/offlineData', 'An offline sale requires offlineData.');
  }
  const invalidMember =
    notAllowedMembers.find((name) => request[name] !== undefined) ??
    (request.captureMode === 'Deferred' ? 'captureMode' : undefined) ??
    (request.partialApproval === true ? 'partialApproval' : undefined);
  if (invalidMember === undefined) return;
  const detail = `${invalidMember} is not allowed with offlineTransaction.`;
  throwFieldProblem('field_invalid', `/${invalidMember}`, detail);
}

const clockSkewMs = 5 * 60_000;

export const offlineSaleTime = ({ authorizedAt }: Pick<OfflineData, 'authorizedAt'>): number =>
  parseRequestTime(authorizedAt);

/** @throws ProblemError field_invalid */
export function checkNotInFuture(request: OfflineRequest, now: number): void {
  if (offlineSaleTime(request.offlineData) <= now + clockSkewMs) return;
  throwFieldProblem('field_invalid', '/offlineData/authorizedAt', 'authorizedAt is in the future.');
}

/** The upper two bits of tag 9F27: 01 is a TC, the approval of the chip (EMV Book 3, 6.5.5.4). */
const cryptogramTypeMask = 0xc0;
const transactionCertificateBits = 0x40;

/** @throws ProblemError emv_data_mismatch */
export function checkTransactionCertificate(card: PresentedCard): void {
  if (card.chipData === undefined) return;
  const information = Number.parseInt(card.receiptChipTags?.['cryptogramInformation'] ?? '', 16);
  if ((information & cryptogramTypeMask) === transactionCertificateBits) return;
  const detail = 'The chip has not approved the sale offline: tag 9F27 must indicate a TC.';
  throwFieldProblem('emv_data_mismatch', '/instrument/emvData', detail);
}

/** @throws ProblemError too_late, field_invalid, card_expired_input, currency_unknown, emv_data_mismatch */
export function checkOfflineSale(request: OfflineRequest, card: PresentedCard, now: number): void {
  const soldAt = offlineSaleTime(request.offlineData);
  checkNotAfter(request, now);
  checkNotInFuture(request, now);
  checkCardExpiry(card, soldAt);
  checkCurrencyActive(request, soldAt);
  checkTransactionCertificate(card);
}

/** @throws ProblemError offline_too_old, offline_limit_exceeded */
export function checkOfflineLimits(
  request: OfflineRequest,
  limits: OfflineLimits,
  now: number,
): void {
  if (now - offlineSaleTime(request.offlineData) > limits.maxAgeHours * hourMs) {
    const detail = `Offline sales are accepted for ${limits.maxAgeHours} hours.`;
    throwFieldProblem('offline_too_old', '/offlineData/authorizedAt', detail);
  }
  const { maxAmounts } = limits;
  const maxAmount = maxAmounts === undefined ? request.amount : (maxAmounts[request.currency] ?? 0);
  if (request.amount <= maxAmount) return;
  const code = 'offline_limit_exceeded';
  throwProblem(
    code,
    `At most ${maxAmount} minor units (${request.currency}) are accepted offline.`,
    {
      ...fieldError('/amount', code, 'Exceeds the offline limit.'),
      extensions: { maxAmount },
    },
  );
}

export function throwCountExceeded(maxCount: number): never {
  const detail = `At most ${maxCount} offline sales are accepted in 24 hours.`;
  return throwFieldProblem('offline_limit_exceeded', '/offlineData/terminalSequence', detail);
}

/** Two uploads with these members are the same sale, also under different client identifiers. */
export function offlineSaleIdentity(members: Record<string, unknown>): Record<string, unknown> {
  const { amount, currency, instrument } = members;
  const offlineData = members['offlineData'] as OfflineData;
  return {
    amount,
    currency,
    instrument,
    'offlineData/authorizedAt': offlineSaleTime(offlineData),
    'offlineData/authorizationCode': offlineData.authorizationCode,
  };
}

export const differingSaleMembers = (
  first: Record<string, unknown>,
  second: Record<string, unknown>,
): string[] => differingMembers(offlineSaleIdentity(first), offlineSaleIdentity(second));

export type OfflineSequence = {
  terminalOwnerId: string;
  /** Serial number of the hardware; the digest of a sale without a device. */
  sequenceScope: string;
  /** False for a sale without a device, whose numbers have no order. */
  isGapChecked: boolean;
};

export function offlineSequenceOf(
  { device, contract }: Pick<SaleEntities, 'device' | 'contract'>,
  { serialNumber = '' }: OfflineData,
  saleDigest: () => string,
): OfflineSequence {
  if (device !== undefined)
    return { terminalOwnerId: device.deviceId, sequenceScope: serialNumber, isGapChecked: true };
  const { contractId: terminalOwnerId } = contract;
  return { terminalOwnerId, sequenceScope: saleDigest(), isGapChecked: false };
}
