// The keyed sale that most tests send; it does not depend on a platform in the same process.
import { randomUUID } from 'node:crypto';

/** A keyed sale that the host approves; the caller can change its members. */
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
