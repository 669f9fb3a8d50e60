// Converts a line of the search to an API response.
import type { ReportedPayment } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { FoundLine } from './find-payments.ts';

const given = <Name extends string, Value>(name: Name, value: Value | null) =>
  value === null ? {} : ({ [name]: value } as Record<Name, Value>);

const word = (text: string): string | null => (text === '' ? null : text);

function responseOf({ of, response_code: code }: FoundLine): Pick<ReportedPayment, 'response'> {
  if (of.category === '') return {};
  return {
    response: {
      category: of.category as NonNullable<ReportedPayment['response']>['category'],
      ...given('code', code),
      ...given('reason', word(of.reason)),
    },
  };
}

export function viewLine(line: FoundLine): ReportedPayment {
  const { of } = line;
  return {
    transactionId: line.payment_id,
    kind: of.kind,
    clientTransactionId: line.client_transaction_id,
    merchantId: line.merchant_id,
    ...given('storeId', line.store_id),
    ...given('deviceId', line.device_id),
    state: of.state,
    amount: line.amount,
    currency: of.currency,
    authorizedAmount: line.authorized,
    capturedAmount: line.captured,
    cancelledAmount: line.cancelled,
    refundedAmount: line.refunded,
    ...given('scheme', word(of.scheme)),
    ...given('maskedNumber', line.masked_number),
    ...given('cardToken', line.card_token),
    ...(of.entryMode === ''
      ? {}
      : { entryMode: of.entryMode as NonNullable<ReportedPayment['entryMode']> }),
    ...responseOf(line),
    ...given('authorizationCode', line.authorization_code),
    ...given('retrievalReferenceNumber', line.retrieval_reference),
    ...given('orderId', line.order_id),
    ...(line.is_offline ? { offline: true } : {}),
    day: line.day,
    createdAt: isoTime(line.created_at.getTime()),
    updatedAt: isoTime(line.updated_at.getTime()),
  };
}
