// Accepts the connection of a point of sale to the device that it has claimed.
import {
  closeCodes,
  connectorLimits,
  connectorPaths,
  ProblemError,
  throwProblem,
} from '@switchyard/contract';
import type { WebSocketRoute } from '../../http/index.ts';
import type { End } from '../forwarding/forward-messages.ts';
import type { Peer, Peers } from '../forwarding/websocket-connections.ts';
import { BackplaneFault } from '../nodes/backplane.ts';
import type { FarSessions, User } from '../nodes/index.ts';
import type { ConnectorSettings } from '../runtime/connector-settings.ts';
import type { Hub } from '../sessions/device-registry.ts';
import type { JoinedEnd } from '../sessions/session-addresses.ts';

type Deps = {
  readonly settings: Pick<ConnectorSettings, 'connectorSessionAuth'>;
  readonly peers: Peers;
  readonly hub: Hub;
  readonly far: Pick<FarSessions, 'use'> | undefined;
};

const identifierForm = /^[A-Za-z0-9_-]{22,128}$/;

/** @example http.upgrades.add(createSessions({ settings, peers, hub, far })); */
export function createSessions({ settings, peers, hub, far }: Deps): WebSocketRoute {
  const gone = (): never =>
    throwProblem('session_gone', 'The session was used, has expired, or was never yours.');

  function wire(peer: Peer, joined: JoinedEnd | undefined): void {
    if (joined === undefined) {
      peer.close(closeCodes.superseded, 'superseded');
      return;
    }
    peer.onMessage(joined.heard);
    peer.onClose((code) => joined.lost(code === closeCodes.done));
  }

  /** Used if the address leads to this node, but another node has the device. */
  async function useFar(key: string, caller: User | undefined): Promise<(end: End) => JoinedEnd> {
    if (far === undefined || hub.knows(key)) return gone();
    try {
      return (await far.use(key, caller)) ?? gone();
    } catch (error) {
      if (!(error instanceof BackplaneFault)) throw error;
      throw new ProblemError('node_unreachable', 'The node of the device cannot be reached now.', {
        retryAfterMs: 5000,
      });
    }
  }

  return {
    path: `${connectorPaths.sessions}/:key`,
    bearer: settings.connectorSessionAuth === 'bearer' ? 'required' : 'optional',
    maxMessageBytes: connectorLimits.messageMaxBytes,
    isOnDeviceListener: false,
    isVerified: ({ key }) => hub.knows(key),
    async accept({ key, caller, id }) {
      if (!identifierForm.test(key)) return gone();
      const join = hub.useAddress(key, caller)
        ? (end: End) => hub.join(key, end)
        : await useFar(key, caller);
      return {
        onOpen(socket) {
          const peer = peers.take(socket, 'session', id);
          wire(peer, join(peer));
        },
      };
    },
  };
}
