// Connects this node to the other nodes of the connector over NATS, if `NATS_URL` is set.
import type { Clock, Ids, Log, Metrics } from '../../platform/index.ts';
import type { Backplane } from './backplane.ts';
import { createNatsBackplane } from './nats-backplane.ts';
import { type NatsSettings, openNatsClient } from './nats-connection.ts';
import { createRemoteSessions, type RemoteSessions } from './remote-sessions.ts';

export type { RemoteSessions, SessionAddressClient } from './remote-sessions.ts';

export type Nodes = {
  readonly backplane: Backplane;
  readonly remoteSessions: RemoteSessions;
  isUp(): boolean;
  onConnectionChange(listener: (isUp: boolean) => void): () => void;
};

type Deps = {
  readonly settings: Omit<NatsSettings, 'natsUrl'> & { readonly natsUrl: string | undefined };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
};

/** Returns undefined if this node is the only one. @example const nodes = openNodes(deps); */
export function openNodes({ settings, clock, ids, log, metrics }: Deps): Nodes | undefined {
  const { natsUrl } = settings;
  if (natsUrl === undefined) return undefined;
  const natsClient = openNatsClient({ settings: { ...settings, natsUrl }, log, metrics });
  return {
    backplane: createNatsBackplane({ natsClient, log }),
    remoteSessions: createRemoteSessions({ natsClient, clock, ids, log, metrics }),
    isUp: natsClient.isUp,
    onConnectionChange: natsClient.onChange,
  };
}
