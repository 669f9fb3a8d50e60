/** Codes with which a supervisor approves refunds and cancels at a terminal. */
import { type Static, Type } from 'typebox';
import {
  Amount,
  Currency,
  fieldCodes,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';

const strict = { additionalProperties: false } as const;

/**
 * The status of an approval code: `Used` is a one-time code that was used.
 *
 * @example
 * approvalCodeStatuses.includes('Revoked'); // true
 */
export const approvalCodeStatuses = ['Active', 'Used', 'Expired', 'Revoked'] as const;
/** One of {@link approvalCodeStatuses}. */
export type ApprovalCodeStatus = (typeof approvalCodeStatuses)[number];

/**
 * An approval code as entered at a terminal. A code of the wrong form is refused like a wrong code.
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
 * `POST /payment/v1/approval-codes`. `maxAmount` and `currency` require each other; a code without
 * them approves any amount.
 *
 * @example
 * const request: ApprovalCodeInput = { name: 'Shift lead', oneTime: true, maxAmount: 20000, currency: 'EUR' };
 */
export const ApprovalCodeInput = Type.Object(members, {
  ...strict,
  description: 'A new approval code.',
});
/** The type of {@link ApprovalCodeInput}. */
export type ApprovalCodeInput = Static<typeof ApprovalCodeInput>;

const approvalFields = {
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
 * An approval code, without its value.
 *
 * @example
 * if ((await response.json() as ApprovalCode).status === 'Active') tellTheShift();
 */
export const ApprovalCode = Type.Object(approvalFields, { description: 'An approval code.' });
/** The type of {@link ApprovalCode}. */
export type ApprovalCode = Static<typeof ApprovalCode>;

/**
 * An approval code with its value, which is shown only once.
 *
 * @example
 * const { code } = (await response.json()) as NewApprovalCode;
 */
export const NewApprovalCode = Type.Object(
  {
    ...approvalFields,
    code: Type.String({ description: 'Shown this once.', examples: ['48213907'] }),
  },
  { description: 'An approval code with the code itself.' },
);
/** The type of {@link NewApprovalCode}. */
export type NewApprovalCode = Static<typeof NewApprovalCode>;
