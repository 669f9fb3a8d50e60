// Defines the columns of exported reports: their names, and the source of each value.
import type { Settlement } from '@switchyard/contract';
import type { ScannedPayment } from '../search/scan-payments.ts';

export type ColumnValue = string | number | boolean | null | undefined;

export type Column<Item> = {
  readonly name: string;
  /** A text from a client, a host or a provider, which may contain anything. */
  readonly isFreeText?: boolean;
  readValue(item: Item): ColumnValue;
};

export const paymentColumns: readonly Column<ScannedPayment>[] = [
  { name: 'transactionId', readValue: (item) => item.transactionId },
  { name: 'kind', readValue: (item) => item.kind },
  { name: 'clientTransactionId', isFreeText: true, readValue: (item) => item.clientTransactionId },
  { name: 'createdAt', readValue: (item) => item.createdAt },
  { name: 'day', readValue: (item) => item.day },
  { name: 'merchantId', readValue: (item) => item.merchantId },
  { name: 'storeId', readValue: (item) => item.storeId },
  { name: 'deviceId', readValue: (item) => item.deviceId },
  { name: 'state', readValue: (item) => item.state },
  { name: 'amount', readValue: (item) => item.amount },
  { name: 'currency', readValue: (item) => item.currency },
  { name: 'authorizedAmount', readValue: (item) => item.authorizedAmount },
  { name: 'capturedAmount', readValue: (item) => item.capturedAmount },
  { name: 'cancelledAmount', readValue: (item) => item.cancelledAmount },
  { name: 'refundedAmount', readValue: (item) => item.refundedAmount },
  { name: 'scheme', isFreeText: true, readValue: (item) => item.scheme },
  { name: 'maskedNumber', readValue: (item) => item.maskedNumber },
  { name: 'cardToken', readValue: (item) => item.cardToken },
  { name: 'entryMode', readValue: (item) => item.entryMode },
  { name: 'responseCategory', readValue: (item) => item.responseCategory },
  { name: 'responseCode', isFreeText: true, readValue: (item) => item.responseCode },
  { name: 'responseReason', isFreeText: true, readValue: (item) => item.responseReason },
  { name: 'authorizationCode', isFreeText: true, readValue: (item) => item.authorizationCode },
  {
    name: 'retrievalReferenceNumber',
    isFreeText: true,
    readValue: (item) => item.retrievalReferenceNumber,
  },
  { name: 'orderId', isFreeText: true, readValue: (item) => item.orderId },
  { name: 'offline', readValue: (item) => item.offline },
  { name: 'updatedAt', readValue: (item) => item.updatedAt },
];

export const settlementColumns: readonly Column<Settlement>[] = [
  { name: 'settlementId', readValue: (item) => item.settlementId },
  { name: 'day', readValue: (item) => item.day },
  { name: 'acquirerLinkId', readValue: (item) => item.acquirerLinkId },
  { name: 'merchantId', readValue: (item) => item.merchantId },
  { name: 'currency', readValue: (item) => item.currency },
  { name: 'captures', readValue: (item) => item.captures.count },
  { name: 'capturedAmount', readValue: (item) => item.captures.amount },
  { name: 'refunds', readValue: (item) => item.refunds.count },
  { name: 'refundedAmount', readValue: (item) => item.refunds.amount },
  { name: 'reversals', readValue: (item) => item.reversals.count },
  { name: 'reversedAmount', readValue: (item) => item.reversals.amount },
  { name: 'netAmount', readValue: (item) => item.net },
  { name: 'pendingCaptures', readValue: (item) => item.pending.count },
  { name: 'pendingAmount', readValue: (item) => item.pending.amount },
  { name: 'fees', readValue: (item) => item.fees },
  { name: 'updatedAt', readValue: (item) => item.updatedAt },
];
