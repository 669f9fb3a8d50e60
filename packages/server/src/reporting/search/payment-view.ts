// Converts a line of the search to an API response.
import type { ReportedPayment } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { FoundPayment } from './find-payments.ts';

const optionalMember = <Name extends string, Value>(name: Name, value: Value | null) =>
  value === null ? {} : ({ [name]: value } as Record<Name, Value>);

const toNullable = (text: string): string | null => (text === '' ? null : text);

function toResponse({
  paymentClass,
  response_code: code,
}: FoundPayment): Pick<ReportedPayment, 'response'> {
  if (paymentClass.category === '') return {};
  return {
    response: {
      category: paymentClass.category as NonNullable<ReportedPayment['response']>['category'],
      ...optionalMember('code', code),
      ...optionalMember('reason', toNullable(paymentClass.reason)),
    },
  };
}

export function toPaymentView(payment: FoundPayment): ReportedPayment {
  const { paymentClass } = payment;
  return {
    transactionId: payment.payment_id,
    kind: paymentClass.kind,
    clientTransactionId: payment.client_transaction_id,
    merchantId: payment.merchant_id,
    ...optionalMember('storeId', payment.store_id),
    ...optionalMember('deviceId', payment.device_id),
    state: paymentClass.state,
    amount: payment.amount,
    currency: paymentClass.currency,
    authorizedAmount: payment.authorized,
    capturedAmount: payment.captured,
    cancelledAmount: payment.cancelled,
    refundedAmount: payment.refunded,
    ...optionalMember('scheme', toNullable(paymentClass.scheme)),
    ...optionalMember('maskedNumber', payment.masked_number),
    ...optionalMember('cardToken', payment.card_token),
    ...(paymentClass.entryMode === ''
      ? {}
      : { entryMode: paymentClass.entryMode as NonNullable<ReportedPayment['entryMode']> }),
    ...toResponse(payment),
    ...optionalMember('authorizationCode', payment.authorization_code),
    ...optionalMember('retrievalReferenceNumber', payment.retrieval_reference),
    ...optionalMember('orderId', payment.order_id),
    ...(payment.is_offline ? { offline: true } : {}),
    day: payment.day,
    createdAt: isoTime(payment.created_at.getTime()),
    updatedAt: isoTime(payment.updated_at.getTime()),
  };
}
