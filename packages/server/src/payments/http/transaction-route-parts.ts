// Shared parts of the payment routes: paths, parameters, error codes, response headers.
import { defined, type ErrorCode } from '@switchyard/contract';
import { type TProperties, type TString, Type } from 'typebox';
import { resolveClientIdentifier } from '../../http/index.ts';
import type { Numbering } from '../../platform/index.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { validateOperationId } from '../validation/validate-sale-request.ts';

export type NumberingPort = { numbering: Pick<Numbering, 'isAvailable' | 'requireAvailable'> };

export const transactionsPath = '/payment/v1/transactions';
export const tags = ['Card payments'];
/** Facts of most payment routes. */
export const paymentRoute = { tags, rateLimit: 'payments' } as const;

const Identifier = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The server's transaction identifier, or the client's.",
});
export const TransactionParams = Type.Object({ transactionId: Identifier });

export const queryOf = <Members extends TProperties>(members: Members) =>
  Type.Object(members, { additionalProperties: false });

export const optionalId = (description?: string) =>
  Type.Optional(Type.String({ format: 'uuid', ...defined({ description }) }));

export const idParams = <Name extends string>(name: Name) =>
  Type.Object({ [name]: Type.String({ format: 'uuid' }) } as Record<Name, TString>);

export const MerchantQuery = queryOf({
  merchantId: optionalId('Selects the payment if several merchants match.'),
});

export const identifierErrors: ErrorCode[] = [
  'client_id_reused',
  'client_id_invalid',
  'idempotency_key_mismatch',
  'header_invalid',
  'entity_out_of_scope',
  'database_unavailable',
];
export const transactionErrors: ErrorCode[] = [
  'transaction_not_found',
  'transaction_ambiguous',
  'offline_sale_already_uploaded',
  'entity_out_of_scope',
  'database_unavailable',
  'recovery_required',
];
export const operationErrors: ErrorCode[] = [
  ...identifierErrors,
  ...transactionErrors,
  'concurrent_modification',
  'acquirer_unavailable',
  'not_sent',
  // Of the stored card, which the message to the acquirer contains.
  'card_keys_unavailable',
  'card_token_unknown',
  'transaction_in_progress',
  'reversal_in_progress',
  'confirmation_pending',
  'transaction_declined',
  'not_authorized',
  'authorization_expired',
  'already_cancelled',
  'currency_mismatch',
];

export const approvalErrors: ErrorCode[] = [
  'approval_code_required',
  'approval_code_invalid',
  'approval_code_used',
  'approval_code_locked',
];

export function resolveOperationId(
  headers: Record<string, unknown>,
  inBody: string | undefined,
): string | undefined {
  const id = resolveClientIdentifier(headers, 'clientOperationId', inBody);
  validateOperationId(id);
  return id;
}

export const locationOf = ({ row }: TransactionRecord): string =>
  `${transactionsPath}/${row.transactionId}`;
