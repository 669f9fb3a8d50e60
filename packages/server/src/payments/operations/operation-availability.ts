// Availability of the acquirer links for a caller.
import { type Availability, Refusal } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';

type Deps = Pick<PaymentsDeps, 'acquiring' | 'provisioning'>;

/** The links of the merchant's contracts; undefined for a caller who is bound to no merchant. */
async function linksOfCaller(
  { provisioning }: Deps,
  caller: Caller,
): Promise<Set<string> | undefined> {
  const { organizationId, merchantId } = caller;
  if (merchantId === undefined) return undefined;
  try {
    const { contracts } = await provisioning.resolve(organizationId, { merchantId });
    return new Set(contracts.map(({ acquirerLink }) => acquirerLink));
  } catch (error) {
    // Whoever can take no sale now, for whatever reason, had better work offline.
    if (error instanceof Refusal) return new Set();
    throw error;
  }
}

/** The links that the caller's sales could take; one that is up is enough to be available. */
export async function getAvailability(deps: Deps, caller: Caller): Promise<Availability> {
  const callerLinks = await linksOfCaller(deps, caller);
  const links = deps.acquiring
    .listLinks(caller.organizationId)
    .filter(({ linkId, isDraining }) => !isDraining && (callerLinks?.has(linkId) ?? true))
    .map(({ name, available }) => ({ name, available }));
  const available = links.some((link) => link.available);
  return { available, offlineAdvised: !available, links };
}
