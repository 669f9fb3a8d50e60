// What the routes of QR payments share: addresses, parameters, codes, replies.
import { type ErrorCode, refuse } from '@switchyard/contract';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { idempotencyKeyHeader } from '../http/index.ts';
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

/** The identifier of a request, from the body or the header; both must say the same. */
export function agreedId(header: unknown, inBody: string | undefined): string | undefined {
  if (header === undefined) return inBody;
  if (typeof header !== 'string' || !/^[A-Za-z0-9._:-]{1,64}$/.test(header)) {
    return refuse('header_invalid', 'Idempotency-Key is 1 to 64 of A-Z a-z 0-9 . _ : -');
  }
  if (inBody !== undefined && inBody !== header) {
    refuse('idempotency_key_mismatch', 'Idempotency-Key and the identifier in the body differ.');
  }
  checkIdentifier(header, '/clientOperationId');
  return header;
}

/** For the document: where it is still under way. */
export const laterHeaders = { 202: ['Location', 'Retry-After'] } as const;

export function markReplay(reply: FastifyReply, replayed: boolean): void {
  if (replayed) reply.header('Idempotent-Replayed', 'true');
}

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
