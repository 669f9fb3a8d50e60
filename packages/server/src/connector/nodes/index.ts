// Connects this node to the other nodes of the connector over NATS, if `NATS_URL` is set.
import type { Clock, Ids, Log, Metrics } from '../../platform/index.ts';
import type { Backplane } from './backplane.ts';
import { createNatsBackplane } from './nats-backplane.ts';
import { type LinkSettings, openLink } from './nats-connection.ts';
import { createFarSessions, type FarSessions } from './remote-sessions.ts';

export type { FarSessions, User } from './remote-sessions.ts';

export type Nodes = {
  readonly backplane: Backplane;
  readonly far: FarSessions;
  isUp(): boolean;
  onChange(told: (isUp: boolean) => void): () => void;
};

type Deps = {
  readonly settings: Omit<LinkSettings, 'natsUrl'> & { readonly natsUrl: string | undefined };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
};

/** Returns undefined if this node is the only one. @example const nodes = openNodes(deps); */
export function openNodes({ settings, clock, ids, log, metrics }: Deps): Nodes | undefined {
  const { natsUrl } = settings;
  if (natsUrl === undefined) return undefined;
  const link = openLink({ settings: { ...settings, natsUrl }, log, metrics });
  return {
    backplane: createNatsBackplane({ link, log }),
    far: createFarSessions({ link, clock, ids, log, metrics }),
    isUp: link.isUp,
    onChange: link.onChange,
  };
}
