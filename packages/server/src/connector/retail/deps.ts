// Defines the dependencies and time limits of the Retail API.
import type { Catalog } from '../../catalog/index.ts';
import type { ChangeNotifier, Clock, Database, Ids, Log } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { JoinedEnd } from '../addresses.ts';
import type { Backplane } from '../backplane.ts';
import type { Claims } from '../claims.ts';
import type { PresenceStore } from '../presence.ts';
import type { End } from '../relay.ts';

/** The parts of the connector that the Retail API uses. */
export type Relay = {
  readonly claims: Pick<Claims, 'claim' | 'status' | 'release'>;
  readonly presence: Pick<PresenceStore, 'of'>;
  readonly backplane: Pick<Backplane, 'own' | 'request'>;
  join(sessionId: string, end: End): JoinedEnd | undefined | Promise<JoinedEnd | undefined>;
};

export type RetailTimes = {
  /** How long a terminal may take to answer. */
  readonly answerMs: number;
  /** How often the server looks for overdue and old messages. */
  readonly sweepMs: number;
};

export const usualTimes: RetailTimes = { answerMs: 150_000, sweepMs: 60_000 };

export type RetailDeps = {
  readonly relay: Relay;
  readonly provisioning: Pick<Provisioning, 'terminals' | 'stores' | 'placeOf'>;
  readonly catalog: Pick<Catalog, 'listActiveServices'>;
  readonly database: Database;
  readonly masterKey: Buffer;
  readonly live: ChangeNotifier;
  readonly clock: Clock;
  readonly dueClock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Times that replace the documented defaults. */
  readonly times?: Partial<RetailTimes> | undefined;
};
