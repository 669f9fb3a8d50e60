// What the routes of QR payments share: addresses, parameters, codes, replies.
import type { ErrorCode } from '@switchyard/contract';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { idempotencyKeyHeader, resolveIdentifier } from '../http/index.ts';
import type { LoadedQr } from './model.ts';
import { checkIdentifier } from './rules.ts';

export const base = '/qrcode-payment/v1/transactions';
export const tags = ['QR payments'];
export const rateLimit = 'payments';

const Identifier = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The server's transaction identifier, or the client's.",
});
export const ByTransaction = Type.Object({ qrTransactionId: Identifier });

export const ofMerchant = {
  merchantId: Type.Optional(
    Type.String({ format: 'uuid', description: 'Decides where several merchants match.' }),
  ),
};
export const OfMerchant = Type.Object(ofMerchant, { additionalProperties: false });

export const ofTransaction: ErrorCode[] = [
  'transaction_not_found',
  'transaction_ambiguous',
  'entity_out_of_scope',
  'database_unavailable',
  'recovery_required',
];

export const ofOperation: ErrorCode[] = [
  ...ofTransaction,
  'client_id_reused',
  'client_id_invalid',
  'idempotency_key_mismatch',
  'header_invalid',
  'concurrent_modification',
  'payment_held',
];

export const idempotencyHeaders = {
  [idempotencyKeyHeader]: 'Means the same as the identifier in the body; both must agree.',
};

/** For the document: the header alone names the payment. */
export const paymentIdempotencyHeaders = {
  [idempotencyKeyHeader]:
    'Means the same as clientTransactionId, which may be left out then; both must agree.',
};

/** The identifier of an operation, from the body or the header. */
export function resolveOperationId(
  headers: Record<string, unknown>,
  inBody: string | undefined,
): string | undefined {
  const id = resolveIdentifier(headers, 'clientOperationId', inBody);
  checkIdentifier(id, '/clientOperationId');
  return id;
}

/** For the document: where it is still under way. */
export const laterHeaders = { 202: ['Location', 'Retry-After'] } as const;

const retryAfterSeconds = '2';

/** Decided since: whoever asks again has the status of the first answer, and nothing left to wait for. */
export function keepAccepted(reply: FastifyReply, { row }: LoadedQr): void {
  reply.code(202).header('Location', `${base}/${row.transactionId}`);
}

/** Not decided yet: where to ask, and when. */
export function pointAt(reply: FastifyReply, { row }: LoadedQr): void {
  reply.code(202);
  reply.header('Location', `${base}/${row.transactionId}`);
  reply.header('Retry-After', retryAfterSeconds);
}
