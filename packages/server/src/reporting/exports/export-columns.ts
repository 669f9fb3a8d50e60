// Defines the columns of exported reports: their names, and the source of each value.
import type { Settlement } from '@switchyard/contract';
import type { ScannedPayment } from '../search/scan-payments.ts';

export type CellValue = string | number | boolean | null | undefined;

export type Column<Item> = {
  readonly name: string;
  /** A text from a client, a host or a provider, which may contain anything. */
  readonly isFree?: boolean;
  of(item: Item): CellValue;
};

const free = true;

export const paymentColumns: readonly Column<ScannedPayment>[] = [
  { name: 'transactionId', of: (item) => item.transactionId },
  { name: 'kind', of: (item) => item.kind },
  { name: 'clientTransactionId', isFree: free, of: (item) => item.clientTransactionId },
  { name: 'createdAt', of: (item) => item.createdAt },
  { name: 'day', of: (item) => item.day },
  { name: 'merchantId', of: (item) => item.merchantId },
  { name: 'storeId', of: (item) => item.storeId },
  { name: 'deviceId', of: (item) => item.deviceId },
  { name: 'state', of: (item) => item.state },
  { name: 'amount', of: (item) => item.amount },
  { name: 'currency', of: (item) => item.currency },
  { name: 'authorizedAmount', of: (item) => item.authorizedAmount },
  { name: 'capturedAmount', of: (item) => item.capturedAmount },
  { name: 'cancelledAmount', of: (item) => item.cancelledAmount },
  { name: 'refundedAmount', of: (item) => item.refundedAmount },
  { name: 'scheme', isFree: free, of: (item) => item.scheme },
  { name: 'maskedNumber', of: (item) => item.maskedNumber },
  { name: 'cardToken', of: (item) => item.cardToken },
  { name: 'entryMode', of: (item) => item.entryMode },
  { name: 'responseCategory', of: (item) => item.responseCategory },
  { name: 'responseCode', isFree: free, of: (item) => item.responseCode },
  { name: 'responseReason', isFree: free, of: (item) => item.responseReason },
  { name: 'authorizationCode', isFree: free, of: (item) => item.authorizationCode },
  { name: 'retrievalReferenceNumber', isFree: free, of: (item) => item.retrievalReferenceNumber },
  { name: 'orderId', isFree: free, of: (item) => item.orderId },
  { name: 'offline', of: (item) => item.offline },
  { name: 'updatedAt', of: (item) => item.updatedAt },
];

export const settlementColumns: readonly Column<Settlement>[] = [
  { name: 'settlementId', of: (item) => item.settlementId },
  { name: 'day', of: (item) => item.day },
  { name: 'acquirerLinkId', of: (item) => item.acquirerLinkId },
  { name: 'merchantId', of: (item) => item.merchantId },
  { name: 'currency', of: (item) => item.currency },
  { name: 'captures', of: (item) => item.captures.count },
  { name: 'capturedAmount', of: (item) => item.captures.amount },
  { name: 'refunds', of: (item) => item.refunds.count },
  { name: 'refundedAmount', of: (item) => item.refunds.amount },
  { name: 'reversals', of: (item) => item.reversals.count },
  { name: 'reversedAmount', of: (item) => item.reversals.amount },
  { name: 'netAmount', of: (item) => item.net },
  { name: 'pendingCaptures', of: (item) => item.pending.count },
  { name: 'pendingAmount', of: (item) => item.pending.amount },
  { name: 'fees', of: (item) => item.fees },
  { name: 'updatedAt', of: (item) => item.updatedAt },
];
