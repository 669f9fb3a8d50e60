// What the Retail API is given.
import type { Catalog } from '../../catalog/index.ts';
import type { ChangeNotifier, Clock, Database, Ids, Log } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { JoinedEnd } from '../addresses.ts';
import type { Backplane } from '../backplane.ts';
import type { Claims } from '../claims.ts';
import type { PresenceStore } from '../presence.ts';
import type { End } from '../relay.ts';

/** What it asks of the connector. */
export type Relay = {
  readonly claims: Pick<Claims, 'claim' | 'status' | 'release'>;
  readonly presence: Pick<PresenceStore, 'of'>;
  readonly backplane: Pick<Backplane, 'own' | 'request'>;
  join(sessionId: string, end: End): JoinedEnd | undefined | Promise<JoinedEnd | undefined>;
};

export type RetailTimes = {
  /** How long a terminal has for its answer. */
  readonly answerMs: number;
  /** How often what is due or old is looked for. */
  readonly sweepMs: number;
};

export const usualTimes: RetailTimes = { answerMs: 150_000, sweepMs: 60_000 };

export type RetailDeps = {
  readonly relay: Relay;
  readonly provisioning: Pick<Provisioning, 'terminals' | 'stores' | 'placeOf'>;
  readonly catalog: Pick<Catalog, 'activeServices'>;
  readonly database: Database;
  readonly masterKey: Buffer;
  readonly live: ChangeNotifier;
  readonly clock: Clock;
  readonly dueClock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Left out in part: as the documents say. */
  readonly times?: Partial<RetailTimes> | undefined;
};
