// Connects terminals that run in a web page of this server, after the page has authorised them.
import { connectorLimits, ProblemError, throwProblem } from '@switchyard/contract';
import type { AcceptedUpgrade } from '../../http/index.ts';
import type { Devices, PlacedTerminal } from '../devices/connector-devices.ts';
import type { PresenceStore } from '../devices/device-presence.ts';
import type { Peers } from '../forwarding/websocket-connections.ts';
import { withProblems } from '../protocol/fault-to-problem.ts';
import type { Hub } from '../sessions/device-registry.ts';

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

    /**
     * Returns a device that may use the connector.
     *
     * @throws Refusal with the error code of the connector
     */
    demand: (organizationId: string, physicalDeviceId: string): Promise<PlacedTerminal> =>
      withProblems(async () =>
        devices.demand(await devices.find(organizationId, physicalDeviceId)),
      ),

    /** Returns the registration number for the next connection of the device. */
    register: (device: PlacedTerminal): Promise<number> => presence.register(device),

    /** Each connection works once; of two connections of a device, the last registered one wins. */
    async connect(
      device: PlacedTerminal,
      connection: { readonly connectionId: string; readonly order: number },
      correlationId: string,
    ): Promise<AcceptedUpgrade> {
      const { connectionId } = connection;
      if (peers.size() >= deps.connectionsMost) {
        throw new ProblemError('rate_limited', 'Too many connections.', { retryAfterMs: 5000 });
      }
      if (!(await presence.connect(device, connection))) {
        throwProblem(
          'session_gone',
          'The connection was used, or a newer one of the device stands.',
        );
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
