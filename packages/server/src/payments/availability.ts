// Tells a device whether payments can be taken, or whether it had better work offline.
import type { Availability } from '@switchyard/contract';
import type { Caller } from '../http/index.ts';
import type { PaymentsDeps } from './deps.ts';

/** The links of the caller's organisation; one that is signed on is enough to be available. */
export function availability(
  { acquiring }: Pick<PaymentsDeps, 'acquiring'>,
  caller: Caller,
): Availability {
  const links = acquiring.availability(caller.organizationId);
  const available = links.some((link) => link.available);
  return { available, offlineAdvised: !available, links };
}
