// A line of a captured card payment for tests.
import { randomUUID } from 'node:crypto';
import type { PaymentLine } from './reported-payment-types.ts';

export function createPaymentLine(changes: Partial<PaymentLine>): PaymentLine {
  return {
    paymentId: randomUUID(),
    createdAt: '2026-03-01T10:00:00.123Z',
    state: 'Captured',
    group: {
      kind: 'Card',
      scheme: 'Visa',
      entryMode: 'Chip',
      currency: 'EUR',
      category: '',
      reason: '',
    },
    merchantId: randomUUID(),
    storeId: undefined,
    deviceId: randomUUID(),
    linkId: randomUUID(),
    amount: 999_999_999_999,
    authorized: 5,
    captured: 5,
    cancelled: 0,
    refunded: 0,
    clientTransactionId: 'order-1',
    orderId: undefined,
    retrievalReference: 'null',
    authorizationCode: '',
    maskedNumber: '411111******1111',
    cardToken: undefined,
    responseCode: '00',
    isOffline: false,
    day: '2026-03-01',
    updatedAt: '2026-03-01T10:00:01.000Z',
    version: 2,
    saleCapture: undefined,
    ...changes,
  };
}
