// Terminals that live in a page of our own: whoever knows the page lets them in, and from there on they are as all others.
import { connectorLimits, Refusal, refuse } from '@switchyard/contract';
import type { AcceptedUpgrade } from '../http/index.ts';
import type { Devices, PlacedTerminal } from './devices.ts';
import type { Hub } from './hub.ts';
import type { Peers } from './peers.ts';
import type { PresenceStore } from './presence.ts';
import { translated } from './retail/refusals.ts';

export type PageTerminals = ReturnType<typeof createPageTerminals>;

type Deps = {
  readonly devices: Devices;
  readonly presence: PresenceStore;
  readonly peers: Peers;
  readonly hub: Hub;
  readonly connectionsMost: number;
  readonly onAbandoned: (error: unknown) => void;
};

/** @example const { welcome } = await pages.connect(device, connectionId, correlationId); */
export function createPageTerminals(deps: Deps) {
  const { devices, presence, peers, hub } = deps;
  return {
    maxMessageBytes: connectorLimits.messageMaxBytes as number,

    /** A device that may use the connector. @throws Refusal in the words of the connector */
    demand: (organizationId: string, physicalDeviceId: string): Promise<PlacedTerminal> =>
      translated(async () => devices.demand(await devices.find(organizationId, physicalDeviceId))),

    /** The number of a connection that is to come among those of the device. */
    register: (device: PlacedTerminal): Promise<number> => presence.register(device),

    /** Once for each: of two connections of a device the one that registered last wins. */
    async connect(
      device: PlacedTerminal,
      connection: { readonly connectionId: string; readonly order: number },
      correlationId: string,
    ): Promise<AcceptedUpgrade> {
      const { connectionId } = connection;
      if (peers.size() >= deps.connectionsMost) {
        throw new Refusal('rate_limited', 'Too many connections.', { retryAfterMs: 5000 });
      }
      if (!(await presence.connect(device, connection))) {
        refuse('session_gone', 'The connection was used, or a newer one of the device stands.');
      }
      return {
        onOpen(socket) {
          hub.attach(device, peers.take(socket, 'device', correlationId), connection);
        },
        onAbort() {
          presence.disconnect(device, connectionId).catch(deps.onAbandoned);
        },
      };
    },
  };
}
