// Shared parts of the payment routes: paths, parameters, error codes, response headers.
import type { ErrorCode } from '@switchyard/contract';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { idempotencyKeyHeader, resolveIdentifier } from '../../http/index.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';
import { validateOperationId } from '../validation/validate-sale-request.ts';

export const transactionsPath = '/payment/v1/transactions';
export const tags = ['Card payments'];
export const rateLimit = 'payments';

const Identifier = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The server's transaction identifier, or the client's.",
});
export const TransactionParams = Type.Object({ transactionId: Identifier });
export const MerchantQuery = Type.Object(
  {
    merchantId: Type.Optional(
      Type.String({ format: 'uuid', description: 'Decides where several merchants match.' }),
    ),
  },
  { additionalProperties: false },
);

/** Of everything that takes an identifier of the client. */
export const identifierErrors: ErrorCode[] = [
  'client_id_reused',
  'client_id_invalid',
  'idempotency_key_mismatch',
  'header_invalid',
  'entity_out_of_scope',
  'database_unavailable',
];
/** Of everything that names a transaction. */
export const transactionErrors: ErrorCode[] = [
  'transaction_not_found',
  'transaction_ambiguous',
  'offline_sale_already_uploaded',
  'entity_out_of_scope',
  'database_unavailable',
];
export const operationErrors: ErrorCode[] = [
  ...identifierErrors,
  ...transactionErrors,
  'concurrent_modification',
  'acquirer_unavailable',
  'not_sent',
  // Of the kept card that the acquirer is told.
  'card_keys_unavailable',
  'card_token_unknown',
];
export const stateErrors: ErrorCode[] = [
  'transaction_in_progress',
  'reversal_in_progress',
  'confirmation_pending',
  'transaction_declined',
  'not_authorized',
  'authorization_expired',
  'already_cancelled',
  'currency_mismatch',
];

/** Of what a supervisor may have to approve. */
export const approvalErrors: ErrorCode[] = [
  'approval_code_required',
  'approval_code_invalid',
  'approval_code_used',
  'approval_code_locked',
];

/** For the document: the header means the same as the member of the body. */
export const idempotencyHeaders = {
  [idempotencyKeyHeader]: 'Means the same as clientOperationId; both must agree.',
};

/** For the document: the header alone names the sale. */
export const saleIdempotencyHeaders = {
  [idempotencyKeyHeader]:
    'Means the same as clientTransactionId, which may be left out then; both must agree.',
};

/** The identifier of an operation, from the body or the header. */
export function resolveOperationId(
  headers: Record<string, unknown>,
  inBody: string | undefined,
): string | undefined {
  const id = resolveIdentifier(headers, 'clientOperationId', inBody);
  validateOperationId(id);
  return id;
}

export function setReplayedHeader(reply: FastifyReply, replayed: boolean): void {
  if (replayed) reply.header('Idempotent-Replayed', 'true');
}

/** For the document: where it is still under way. */
export const acceptedHeaders = { 202: ['Location', 'Retry-After'] } as const;

const retryAfterSeconds = '2';

export function respondAccepted(reply: FastifyReply, transaction: TransactionRecord): void {
  reply.code(202);
  reply.header('Location', `${transactionsPath}/${transaction.row.transactionId}`);
  reply.header('Retry-After', retryAfterSeconds);
}
