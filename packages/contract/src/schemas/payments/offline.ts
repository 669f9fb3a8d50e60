/** Offline sales: the data of a sale that a terminal approved alone, and gaps in its numbers. */
import { type Static, Type } from 'typebox';
import { serialNumberForm, Timestamp, Uuid, wordOf } from '../values-and-problems/value-schemas.ts';

const strict = { additionalProperties: false } as const;

/**
 * Why a sale was made offline.
 *
 * @example
 * const reason: OfflineReason = 'NoConnection';
 */
export const offlineReasons = [
  'NoConnection',
  'ServerUnavailable',
  'AcquirerUnavailable',
  'DeviceStandalone',
] as const;
/** One of {@link offlineReasons}. */
export type OfflineReason = (typeof offlineReasons)[number];

const serialNumber = Type.String({
  ...serialNumberForm,
  description:
    'The hardware that counted, where a device has been given another one: each counts for itself.',
  examples: ['10000001'],
});

/**
 * The highest terminal sequence number, limited by tag 9F41.
 *
 * @example
 * const next = terminalSequence === terminalSequenceMax ? 1 : terminalSequence + 1;
 */
export const terminalSequenceMax = 99_999_999;

/**
 * The data of a sale that the terminal approved without the platform.
 *
 * @example
 * const offlineData: OfflineData = {
 *   authorizedAt: '2026-03-01T12:30:00.000Z', authorizationCode: '9A01B2', terminalSequence: 17,
 *   reason: 'NoConnection',
 * };
 */
export const OfflineData = Type.Object(
  {
    authorizedAt: Timestamp,
    authorizationCode: Type.String({
      pattern: '^[A-Za-z0-9]{1,6}$',
      description: 'The code that chip or terminal gave for it (DE38).',
      examples: ['9A01B2'],
    }),
    terminalSequence: Type.Integer({
      minimum: 0,
      maximum: terminalSequenceMax,
      description:
        'The number of the sale among the offline sales of the terminal, counted without a gap.',
      examples: [17],
    }),
    reason: wordOf(offlineReasons, { description: 'Why the sale was made offline.' }),
    serialNumber: Type.Optional(serialNumber),
  },
  { ...strict, description: 'How, when and why a sale was approved without the platform.' },
);
/** The type of {@link OfflineData}. */
export type OfflineData = Static<typeof OfflineData>;

/**
 * Terminal sequence numbers that were not uploaded: the terminal may still store these sales.
 *
 * @example
 * for (const { firstMissing, lastMissing } of page.items) ask(terminal, firstMissing, lastMissing);
 */
export const OfflineGap = Type.Object(
  {
    merchantId: Uuid,
    storeId: Type.Optional(Uuid),
    deviceId: Uuid,
    serialNumber: Type.Optional(serialNumber),
    firstMissing: Type.Integer({ minimum: 0, description: 'The first number that is missing.' }),
    lastMissing: Type.Integer({ minimum: 0, description: 'The last number that is missing.' }),
    missing: Type.Integer({ minimum: 1, description: 'How many are missing.' }),
    detectedAt: Timestamp,
    transactionId: Type.String({
      format: 'uuid',
      description: 'The upload after the gap; its event offline.gap_detected has the same data.',
    }),
  },
  { description: 'Offline sales of a terminal that were counted and never uploaded.' },
);
/** The type of {@link OfflineGap}. */
export type OfflineGap = Static<typeof OfflineGap>;
