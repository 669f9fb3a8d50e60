// Asks again whether those who are connected still may: what was disabled or taken back is cut off.
import { closeCodes } from '@switchyard/contract';
import type { Clients } from '../identity/index.ts';
import type { Devices } from './devices.ts';
import { closeCodeOf } from './faults.ts';
import type { Hub } from './hub.ts';

type Deps = {
  readonly devices: Pick<Devices, 'faultOf'>;
  readonly clients: Pick<Clients, 'stands'>;
  readonly hub: Pick<Hub, 'connected' | 'cutDevice' | 'claimants' | 'cutClient'>;
};

/** So many questions to the database at a time. */
const atOnce = 4;

async function inTurns<Item>(items: readonly Item[], look: (item: Item) => Promise<void>) {
  for (let from = 0; from < items.length; from += atOnce) {
    await Promise.all(items.slice(from, from + atOnce).map(look));
  }
}

/** @example const recheck = createRecheck({ devices, clients, hub }); await recheck(); */
export function createRecheck({ devices, clients, hub }: Deps): () => Promise<void> {
  return async () => {
    await inTurns(hub.connected(), async ({ device, isProven }) => {
      const { organizationId, physicalDeviceId } = device;
      const word = (await isProven())
        ? await devices.faultOf(organizationId, physicalDeviceId)
        : 'unauthorized';
      if (word === undefined) return;
      hub.cutDevice(device, { code: closeCodeOf(word), word });
    });
    const claimants = new Map(
      hub
        .claimants()
        .map((claimant) => [`${claimant.organizationId}/${claimant.clientId}`, claimant]),
    );
    await inTurns([...claimants.values()], async ({ organizationId, clientId }) => {
      if (await clients.stands(organizationId, clientId)) return;
      hub.cutClient(organizationId, clientId, {
        code: closeCodes.unauthorized,
        word: 'unauthorized',
      });
    });
  };
}
