// The connection of a point of sale to the device that it has claimed.
import { closeCodes, connectorLimits, connectorPaths, refuse } from '@switchyard/contract';
import type { UpgradeRoute } from '../http/index.ts';
import type { ConnectorSettings } from './deps.ts';
import type { Hub } from './hub.ts';
import type { Peers } from './peers.ts';

type Deps = {
  readonly settings: Pick<ConnectorSettings, 'connectorSessionAuth'>;
  readonly peers: Peers;
  readonly hub: Hub;
};

const identifierForm = /^[A-Za-z0-9_-]{22,128}$/;

/** @example http.upgrades.add(createSessions({ settings, peers, hub })); */
export function createSessions({ settings, peers, hub }: Deps): UpgradeRoute {
  return {
    path: `${connectorPaths.sessions}/:key`,
    bearer: settings.connectorSessionAuth === 'bearer' ? 'required' : 'optional',
    maxMessageBytes: connectorLimits.messageMaxBytes,
    isForDevices: false,
    async admit({ key, caller, id }) {
      if (!identifierForm.test(key) || !hub.useAddress(key, caller)) {
        refuse('session_gone', 'The session was used, has expired, or was never yours.');
      }
      return {
        welcome(socket) {
          const peer = peers.take(socket, 'session', id);
          const joined = hub.join(key, peer);
          if (joined === undefined) {
            peer.close(closeCodes.superseded, 'superseded');
            return;
          }
          peer.onMessage(joined.heard);
          peer.onClose((code) => joined.lost(code === closeCodes.done));
        },
      };
    },
  };
}
