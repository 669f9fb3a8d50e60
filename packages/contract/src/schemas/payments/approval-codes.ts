/** Codes with which a supervisor approves refunds and cancels at a terminal. */
import { type Static, Type } from 'typebox';
import { Amount, Currency, fieldCodes, Timestamp, Uuid, wordOf } from '../values.ts';

const strict = { additionalProperties: false } as const;

/**
 * What makes an approval code stand or not: `Used` is a one-time code that has been used.
 *
 * @example
 * approvalCodeStatuses.includes('Revoked'); // true
 */
export const approvalCodeStatuses = ['Active', 'Used', 'Expired', 'Revoked'] as const;
/** One of {@link approvalCodeStatuses}. */
export type ApprovalCodeStatus = (typeof approvalCodeStatuses)[number];

/**
 * An approval code as it is typed at a terminal. What is no code by its form is refused like one
 * that is wrong.
 *
 * @example
 * const request: RefundRequest = { amount: 500, approvalCode: '48213907' };
 */
export const ApprovalCodeText = Type.String({
  pattern: '^[0-9]{8}$',
  description: 'The code of a supervisor. It is checked wherever it is sent, and never stored.',
  examples: ['48213907'],
  ...fieldCodes({ pattern: 'approval_code_invalid' }),
});

const members = {
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'Whose code it is.',
    examples: ['Shift lead, Monday'],
  }),
  merchantId: Type.Optional(Uuid),
  storeId: Type.Optional(Uuid),
  oneTime: Type.Optional(
    Type.Boolean({ description: 'Whether it approves once alone; false if left out.' }),
  ),
  maxAmount: Type.Optional(Amount),
  currency: Type.Optional(Currency),
  validUntil: Type.Optional(Timestamp),
};

/**
 * `POST /payment/v1/approval-codes`. `maxAmount` and `currency` come together; a code with neither
 * approves any amount.
 *
 * @example
 * const request: ApprovalCodeInput = { name: 'Shift lead', oneTime: true, maxAmount: 20000, currency: 'EUR' };
 */
export const ApprovalCodeInput = Type.Object(members, {
  ...strict,
  description: 'A new approval code.',
});
/** What the schema {@link ApprovalCodeInput} describes. */
export type ApprovalCodeInput = Static<typeof ApprovalCodeInput>;

const shown = {
  approvalCodeId: Uuid,
  ...members,
  oneTime: Type.Boolean(),
  status: wordOf(approvalCodeStatuses),
  uses: Type.Integer({ minimum: 0 }),
  lastUsedAt: Type.Optional(Timestamp),
  createdBy: Type.String({ description: 'The subject of the token that made it.' }),
  createdAt: Timestamp,
  revokedAt: Type.Optional(Timestamp),
};

/**
 * An approval code, without the code.
 *
 * @example
 * if ((await response.json() as ApprovalCode).status === 'Active') tellTheShift();
 */
export const ApprovalCode = Type.Object(shown, { description: 'An approval code.' });
/** What the schema {@link ApprovalCode} describes. */
export type ApprovalCode = Static<typeof ApprovalCode>;

/**
 * An approval code with the code itself, which is shown this once.
 *
 * @example
 * const { code } = (await response.json()) as NewApprovalCode;
 */
export const NewApprovalCode = Type.Object(
  { ...shown, code: Type.String({ description: 'Shown this once.', examples: ['48213907'] }) },
  { description: 'An approval code with the code itself.' },
);
/** What the schema {@link NewApprovalCode} describes. */
export type NewApprovalCode = Static<typeof NewApprovalCode>;
