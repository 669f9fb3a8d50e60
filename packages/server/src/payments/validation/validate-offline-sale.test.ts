import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OfflineData, ProblemError, type ProcessRequest } from '@switchyard/contract';
import type { SaleEntities } from '../../provisioning/index.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import {
  checkNotInFuture,
  checkOfflineLimits,
  checkTransactionCertificate,
  differingSaleMembers,
  type OfflineRequest,
  offlineSaleTime,
  offlineSequenceOf,
  validateOfflineSale,
} from './validate-offline-sale.ts';

const now = Date.parse('2026-03-01T12:00:00.000Z');
const offlineData: OfflineData = {
  authorizedAt: '2026-03-01T11:00:00.000Z',
  authorizationCode: '9A01B2',
  terminalSequence: 7,
  reason: 'NoConnection',
};
const request = (members: Record<string, unknown> = {}): OfflineRequest =>
  ({
    clientTransactionId: 'a',
    amount: 1000,
    currency: 'EUR',
    entryMode: 'Keyed',
    instrument: { token: 't' },
    offlineTransaction: true,
    offlineData,
    ...members,
  }) as unknown as OfflineRequest;

function codeOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ProblemError, String(error));
    return error.code;
  }
}

test('an offline sale requires offlineData and refuses members without effect', () => {
  const fault = (members: Partial<ProcessRequest>) =>
    codeOf(() => validateOfflineSale(request(members)));
  assert.equal(fault({}), undefined);
  assert.equal(
    codeOf(() => validateOfflineSale({ ...request(), offlineData: undefined } as never)),
    'field_required',
  );
  assert.equal(fault({ offlineTransaction: false }), 'field_invalid');
  for (const members of [
    { confirmWithinSeconds: 30 },
    { ksn: 'FFFF9876543210E00001' },
    { captureMode: 'Deferred' },
    { partialApproval: true },
    { orderChannel: 'MailOrder' },
  ] as Partial<ProcessRequest>[]) {
    assert.equal(fault(members), 'field_invalid', Object.keys(members)[0]);
  }
  assert.equal(fault({ captureMode: 'Immediate', partialApproval: false }), undefined);
});

test('authorizedAt accepts leap seconds, time zones and small clock skew', () => {
  const at = (authorizedAt: string) => ({ offlineData: { ...offlineData, authorizedAt } });
  assert.equal(
    offlineSaleTime(at('2026-06-30T23:59:60Z').offlineData),
    Date.parse('2026-06-30T23:59:59Z'),
  );
  const fault = (authorizedAt: string) =>
    codeOf(() => checkNotInFuture(request(at(authorizedAt)), now));
  assert.equal(fault('2026-03-01T12:05:00.000Z'), undefined);
  assert.equal(fault('2026-03-01T12:05:00.001Z'), 'field_invalid');
  assert.equal(fault('2026-03-01T14:04:00+02:00'), undefined);
});

test('offline limits are inclusive', () => {
  const limits = { maxAmounts: { EUR: 1000 }, maxAgeHours: 1, maxCount: 1 };
  const fault = (members: Record<string, unknown>, at = now, offlineLimits: object = limits) =>
    codeOf(() => checkOfflineLimits(request(members), offlineLimits as typeof limits, at));
  assert.equal(fault({}), undefined);
  assert.equal(fault({}, now + 1), 'offline_too_old');
  assert.equal(fault({ amount: 1001 }), 'offline_limit_exceeded');
  assert.equal(fault({ currency: 'USD' }), 'offline_limit_exceeded');
  const anyAmount = { maxAgeHours: 1, maxCount: 1 };
  assert.equal(fault({ currency: 'USD', amount: 999_999_999_999 }, now, anyAmount), undefined);
});

test('tag 9F27 must indicate a TC', () => {
  const chip = (cryptogramInformation: string | undefined) =>
    ({
      chipData: '9F2701',
      receiptChipTags: { cryptogramInformation },
    }) as unknown as PresentedCard;
  for (const information of ['40', '41', '4F', '7F']) {
    assert.equal(
      codeOf(() => checkTransactionCertificate(chip(information))),
      undefined,
      information,
    );
  }
  for (const information of ['80', '00', 'C0', undefined]) {
    assert.equal(
      codeOf(() => checkTransactionCertificate(chip(information))),
      'emv_data_mismatch',
    );
  }
  assert.equal(
    codeOf(() => checkTransactionCertificate({} as PresentedCard)),
    undefined,
  );
});

test('different sales with one sequence number are refused with the differing members', () => {
  const fingerprint = (members: object = {}, data: object = {}) => ({
    amount: 1000,
    currency: 'EUR',
    instrument: 'card',
    entryMode: 'Keyed',
    offlineData: { ...offlineData, ...data },
    ...members,
  });
  const differs = (members: object, data?: object) =>
    differingSaleMembers(fingerprint(), fingerprint(members, data));
  assert.deepEqual(differs({ entryMode: 'ContactChip', metadata: {} }, { reason: 'x' }), []);
  assert.deepEqual(differs({}, { authorizedAt: '2026-03-01T12:00:00+01:00' }), []);
  assert.deepEqual(differs({ amount: 1, currency: 'USD' }), ['amount', 'currency']);
  assert.deepEqual(differs({}, { authorizationCode: 'X' }), ['offlineData/authorizationCode']);
});

test('the sequence belongs to the device or to its serial number', () => {
  const { contract } = { contract: { contractId: 'contract' } } as SaleEntities;
  const atDevice = { contract, device: { deviceId: 'device', name: 'till' } };
  const saleDigest = () => 'sale:digest';
  const serialNumber = { ...offlineData, serialNumber: '1' };
  assert.deepEqual(offlineSequenceOf(atDevice, offlineData, saleDigest), {
    terminalOwnerId: 'device',
    sequenceScope: '',
    isGapChecked: true,
  });
  assert.equal(offlineSequenceOf(atDevice, serialNumber, saleDigest).sequenceScope, '1');
  assert.deepEqual(offlineSequenceOf({ contract }, offlineData, saleDigest), {
    terminalOwnerId: 'contract',
    sequenceScope: 'sale:digest',
    isGapChecked: false,
  });
});
