/** Everything that the provider SPI asks for, in the order in which it is checked. */
import type { ProviderCheck } from './check.ts';
import { eventChecks, serviceChecks } from './checks-events.ts';
import { cancelChecks, refundChecks } from './checks-money.ts';
import { paymentChecks } from './checks-payments.ts';
import { messageChecks, signatureChecks } from './checks-signatures.ts';

export const providerChecks: readonly ProviderCheck[] = [
  ...serviceChecks,
  ...signatureChecks,
  ...messageChecks,
  ...paymentChecks,
  ...cancelChecks,
  ...refundChecks,
  ...eventChecks,
];
