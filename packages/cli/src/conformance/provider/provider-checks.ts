/** All conformance checks of a provider server, in their order. */

import { cancelChecks, refundChecks } from './cancel-and-refund-checks.ts';
import type { ProviderCheck } from './check-steps.ts';
import { paymentChecks } from './payment-checks.ts';
import { eventChecks, serviceChecks } from './provider-sent-event-checks.ts';
import { messageChecks, signatureChecks } from './signature-checks.ts';

export const providerChecks: readonly ProviderCheck[] = [
  ...serviceChecks,
  ...signatureChecks,
  ...messageChecks,
  ...paymentChecks,
  ...cancelChecks,
  ...refundChecks,
  ...eventChecks,
];
