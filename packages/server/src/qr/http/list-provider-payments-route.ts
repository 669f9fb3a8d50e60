// Lists the QR payments of a provider's own services with their status.
import { type ProviderQrPayment, ProviderQrPaymentList, throwProblem } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import { type Database, isoTime } from '../../platform/index.ts';
import { type PaymentRow, providerIndexCondition } from '../repository/qr-rows.ts';
import { tags } from './qr-route-parts.ts';

type Row = Pick<
  PaymentRow,
  | 'organization_id'
  | 'transaction_id'
  | 'client_transaction_id'
  | 'provider_transaction_id'
  | 'service_id'
  | 'status'
  | 'amount'
  | 'paid'
  | 'refunded'
  | 'currency'
  | 'created_at'
  | 'updated_at'
> & { payment_type: string };

const operationName = 'listProviderQrPayments';

const listText = `SELECT t.organization_id, t.transaction_id, t.client_transaction_id,
    t.provider_transaction_id, t.service_id, t.status, t.amount, t.paid, t.refunded, t.currency,
    t.facts->>'paymentType' AS payment_type, t.created_at, t.updated_at
  FROM qr_transactions t
  WHERE t.provider_id = $1 AND t.${providerIndexCondition} AND ($2::uuid IS NULL OR t.transaction_id < $2)
  ORDER BY t.transaction_id DESC LIMIT $3`;

function toProviderPayment(row: Row): ProviderQrPayment {
  const providerTransactionId = row.provider_transaction_id;
  return {
    transactionId: row.transaction_id,
    clientTransactionId: row.client_transaction_id,
    ...(providerTransactionId === null ? {} : { providerTransactionId }),
    serviceId: row.service_id,
    organizationId: row.organization_id,
    paymentType: row.payment_type,
    status: row.status,
    amount: Number(row.amount),
    paidAmount: Number(row.paid),
    refundedAmount: Number(row.refunded),
    currency: row.currency,
    createdAt: isoTime(row.created_at.getTime()),
    updatedAt: isoTime(row.updated_at.getTime()),
  };
}

export function registerProviderPaymentsRoute(app: FastifyInstance, database: Database): void {
  route(app, {
    method: 'GET',
    url: '/qrcode-payment/v1/provider-transactions',
    operationId: operationName,
    summary: 'List the QR payments of a provider',
    description:
      'For the organisation that provides the services: the payments of all merchants, ' +
      'newest first. The list contains only data that the provider received in its calls.',
    tags,
    permission: 'svc.read',
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: ProviderQrPaymentList },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      if (caller.entityType !== 'tenant') {
        throwProblem(
          'permission_denied',
          'Only the organisation of the provider can list the payments of its services.',
        );
      }
      const { limit, after } = readPageRequest(query, operationName);
      const values = [caller.organizationId, after ?? null, limit + 1];
      const rows = await database.query<Row>(listText, values);
      const pageRows = rows.slice(0, limit);
      const next = rows.length > limit ? pageRows.at(-1)?.transaction_id : undefined;
      return pageResponse({ items: pageRows.map(toProviderPayment), next }, query, operationName);
    },
  });
}
