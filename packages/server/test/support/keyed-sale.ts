// The sale that most tests make, apart from the platform that some of them only know from outside.
import { randomUUID } from 'node:crypto';

/** A keyed sale that the host approves; members can be changed. */
export function keyedSale(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    clientTransactionId: randomUUID(),
    amount: 1234,
    currency: 'EUR',
    entryMode: 'Keyed',
    instrument: { card: { number: '4111111111111111', expiryMonth: 12, expiryYear: 2030 } },
    ...members,
  };
}
