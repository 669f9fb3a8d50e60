// Defines what the QR payment routes share: base path, parameters, error codes and location.
import type { ErrorCode } from '@switchyard/contract';
import { Type } from 'typebox';
import { resolveClientIdentifier } from '../../http/index.ts';
import { requireValidIdentifier } from '../transaction/payment-request-rules.ts';
import type { LoadedPayment } from '../transaction/records.ts';

export const qrBasePath = '/qrcode-payment/v1/transactions';
export const tags = ['QR payments'];
export const rateLimit = 'payments';

const Identifier = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The server's transaction identifier, or the client's.",
});
export const TransactionParams = Type.Object({ qrTransactionId: Identifier });

export const merchantQueryMembers = {
  merchantId: Type.Optional(
    Type.String({ format: 'uuid', description: 'Selects the payment if several merchants match.' }),
  ),
};
export const MerchantQuery = Type.Object(merchantQueryMembers, { additionalProperties: false });

export const transactionErrors: ErrorCode[] = [
  'transaction_not_found',
  'transaction_ambiguous',
  'entity_out_of_scope',
  'database_unavailable',
  'recovery_required',
];

export const operationErrors: ErrorCode[] = [
  ...transactionErrors,
  'client_id_reused',
  'client_id_invalid',
  'idempotency_key_mismatch',
  'header_invalid',
  'concurrent_modification',
  'payment_held',
];

/** The identifier of an operation, from the body or the header. */
export function resolveOperationId(
  headers: Record<string, unknown>,
  inBody: string | undefined,
): string | undefined {
  const id = resolveClientIdentifier(headers, 'clientOperationId', inBody);
  requireValidIdentifier(id, '/clientOperationId');
  return id;
}

export const paymentLocation = ({ row }: LoadedPayment): string =>
  `${qrBasePath}/${row.transactionId}`;
