// Availability of the acquirer links for a caller.
import { type Availability, Refusal } from '@switchyard/contract';
import type { Acquiring } from '../../acquiring/index.ts';
import type { Caller } from '../../http/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';

export type AvailabilityPorts = {
  acquiring: Pick<Acquiring, 'listLinks'>;
  provisioning: Pick<Provisioning, 'resolve'>;
};

/** The links of the merchant's contracts; undefined for a caller of the organisation. */
async function linksOfCaller(
  { provisioning }: Pick<AvailabilityPorts, 'provisioning'>,
  caller: Caller,
): Promise<Set<string> | undefined> {
  const { organizationId, merchantId } = caller;
  if (merchantId === undefined) return undefined;
  try {
    const { contracts } = await provisioning.resolve(organizationId, { merchantId });
    return new Set(contracts.map(({ acquirerLink }) => acquirerLink));
  } catch (error) {
    // A merchant that cannot take a sale now should work offline.
    if (error instanceof Refusal) return new Set();
    throw error;
  }
}

/** The links that a sale of the caller could use. */
export async function getAvailability(
  ports: AvailabilityPorts,
  caller: Caller,
): Promise<Availability> {
  const callerLinks = await linksOfCaller(ports, caller);
  const links = ports.acquiring
    .listLinks(caller.organizationId)
    .filter(({ linkId, isDraining }) => !isDraining && (callerLinks?.has(linkId) ?? true))
    .map(({ name, available }) => ({ name, available }));
  const available = links.some((link) => link.available);
  return { available, offlineAdvised: !available, links };
}
