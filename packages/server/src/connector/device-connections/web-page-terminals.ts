// Connects terminals that run in a web page of this server, after the page has authorised them.
import { connectorLimits, ProblemError, throwProblem } from '@switchyard/contract';
import type { AcceptedUpgrade } from '../../http/index.ts';
import type { AssignedTerminal, ConnectorDevices } from '../devices/connector-devices.ts';
import type { PresenceStore } from '../devices/device-presence.ts';
import type { WebSocketConnections } from '../forwarding/websocket-connections.ts';
import { withProblems } from '../protocol/fault-to-problem.ts';
import type { DeviceRegistry } from '../sessions/device-registry.ts';

export type WebPageTerminals = ReturnType<typeof createWebPageTerminals>;

type Deps = {
  readonly devices: ConnectorDevices;
  readonly presence: PresenceStore;
  readonly webSockets: WebSocketConnections;
  readonly deviceRegistry: DeviceRegistry;
  readonly connectionsMax: number;
  readonly onDisconnectError: (error: unknown) => void;
};

/** @example const accepted = await pageTerminals.connect(device, connectionId, correlationId); */
export function createWebPageTerminals(deps: Deps) {
  const { devices, presence, webSockets, deviceRegistry } = deps;
  return {
    maxMessageBytes: connectorLimits.messageMaxBytes as number,

    /**
     * Returns a device that may use the connector.
     *
     * @throws ProblemError with the error code of the connector
     */
    requireUsableDevice: (
      organizationId: string,
      physicalDeviceId: string,
    ): Promise<AssignedTerminal> =>
      withProblems(async () =>
        devices.requireUsable(await devices.find(organizationId, physicalDeviceId)),
      ),

    /** Returns the registration number for the next connection of the device. */
    register: (device: AssignedTerminal): Promise<number> => presence.register(device),

    /** Each connection works once; of two connections of a device, the last registered one wins. */
    async connect(
      device: AssignedTerminal,
      connection: { readonly connectionId: string; readonly order: number },
      correlationId: string,
    ): Promise<AcceptedUpgrade> {
      const { connectionId } = connection;
      if (webSockets.size() >= deps.connectionsMax) {
        throw new ProblemError(
          'rate_limited',
          'The server has the maximum number of open connections. Retry after 5 seconds.',
          { retryAfterMs: 5000 },
        );
      }
      if (!(await presence.connect(device, connection))) {
        throwProblem(
          'session_gone',
          'The connection was already used, or the device has a newer one. Register the device again.',
        );
      }
      return {
        onOpen(socket) {
          deviceRegistry.addConnection(
            device,
            webSockets.add(socket, 'device', correlationId),
            connection,
          );
        },
        onAbort() {
          presence.disconnect(device, connectionId).catch(deps.onDisconnectError);
        },
      };
    },
  };
}
