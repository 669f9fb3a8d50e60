// Accepts the connection of a point of sale to the device that it has claimed.
import {
  closeCodes,
  connectorLimits,
  connectorPaths,
  ProblemError,
  throwProblem,
} from '@switchyard/contract';
import { traceparentOf, type WebSocketRoute } from '../../http/index.ts';
import { endSpan, type Tracer } from '../../platform/index.ts';
import type { MessageEndpoint } from '../forwarding/forward-messages.ts';
import type {
  WebSocketConnection,
  WebSocketConnections,
} from '../forwarding/websocket-connections.ts';
import { BackplaneError } from '../nodes/backplane.ts';
import type { RemoteSessions, SessionAddressClient } from '../nodes/index.ts';
import type { ConnectorSettings } from '../runtime/connector-settings.ts';
import type { DeviceRegistry } from '../sessions/device-registry.ts';
import type { PosSessionConnection } from '../sessions/session-addresses.ts';

type Deps = {
  readonly settings: Pick<ConnectorSettings, 'connectorSessionAuth'>;
  readonly webSockets: WebSocketConnections;
  readonly deviceRegistry: DeviceRegistry;
  readonly remoteSessions: Pick<RemoteSessions, 'useAddress'> | undefined;
  readonly tracer?: Tracer | undefined;
};

const identifierForm = /^[A-Za-z0-9_-]{22,128}$/;

/** @example http.upgrades.add(createSessionRoute({ settings, webSockets, deviceRegistry, remoteSessions })); */
export function createSessionRoute({
  settings,
  webSockets,
  deviceRegistry,
  remoteSessions,
  tracer,
}: Deps): WebSocketRoute {
  const throwSessionGone = (): never =>
    throwProblem(
      'session_gone',
      'The session was already used, has expired, or belongs to another client.',
    );

  function attachPos(
    peer: WebSocketConnection,
    connection: PosSessionConnection | undefined,
  ): void {
    if (connection === undefined) {
      peer.close(closeCodes.superseded, 'superseded');
      return;
    }
    peer.onMessage(connection.receive);
    peer.onClose((code) => connection.disconnected(code === closeCodes.done));
  }

  /** Used if the address leads to this node, but another node has the device. */
  async function useRemoteAddress(
    key: string,
    caller: SessionAddressClient | undefined,
  ): Promise<(endpoint: MessageEndpoint) => PosSessionConnection> {
    if (remoteSessions === undefined || deviceRegistry.hasSession(key)) return throwSessionGone();
    try {
      return (await remoteSessions.useAddress(key, caller)) ?? throwSessionGone();
    } catch (error) {
      if (!(error instanceof BackplaneError)) throw error;
      throw new ProblemError(
        'node_unreachable',
        'The server node that holds the connection of the device is not reachable. Retry after 5 seconds.',
        {
          retryAfterMs: 5000,
        },
      );
    }
  }

  return {
    path: `${connectorPaths.sessions}/:key`,
    bearer: settings.connectorSessionAuth === 'bearer' ? 'required' : 'optional',
    maxMessageBytes: connectorLimits.messageMaxBytes,
    isOnDeviceListener: false,
    isVerified: ({ key }) => deviceRegistry.hasSession(key),
    async accept({ key, caller, id, request }) {
      if (!identifierForm.test(key)) return throwSessionGone();
      const join = deviceRegistry.useAddress(key, caller)
        ? (endpoint: MessageEndpoint) => deviceRegistry.join(key, endpoint)
        : await useRemoteAddress(key, caller);
      // The address is a secret of the client that claimed the device.
      const incoming = { traceparent: traceparentOf(request), isAuthenticated: true };
      return {
        onOpen(socket, rawSocket) {
          const peer = webSockets.add(socket, 'session', id, rawSocket);
          const span = tracer?.startRequest(incoming, 'connector session', {
            'http.route': `${connectorPaths.sessions}/:key`,
            'network.protocol.name': 'websocket',
          });
          if (span !== undefined)
            peer.onClose((code) => endSpan(span, { 'switchyard.websocket.close_code': code }));
          attachPos(peer, join(peer));
        },
      };
    },
  };
}
