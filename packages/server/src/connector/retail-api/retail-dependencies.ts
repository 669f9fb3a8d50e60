// Defines the dependencies and time limits of the Retail API.
import type { Catalog } from '../../catalog/index.ts';
import type { ChangeNotifier, Clock, Database, Ids, Log } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { PresenceStore } from '../devices/device-presence.ts';
import type { MessageEndpoint } from '../forwarding/forward-messages.ts';
import type { Backplane } from '../nodes/backplane.ts';
import type { Claims } from '../pos/claim-requests.ts';
import type { PosSessionConnection } from '../sessions/session-addresses.ts';

/** The parts of the connector that the Retail API uses. */
export type RetailConnector = {
  readonly claims: Pick<Claims, 'claim' | 'status' | 'release'>;
  readonly presence: Pick<PresenceStore, 'find'>;
  readonly backplane: Pick<Backplane, 'answerRequests' | 'request'>;
  joinSession(
    sessionId: string,
    end: MessageEndpoint,
  ): PosSessionConnection | undefined | Promise<PosSessionConnection | undefined>;
};

export type RetailTimes = {
  /** How long a terminal may take to answer. */
  readonly answerMs: number;
  /** How often the server looks for overdue and old messages. */
  readonly sweepMs: number;
};

export const defaultRetailTimes: RetailTimes = { answerMs: 150_000, sweepMs: 60_000 };

export type RetailApiDeps = {
  readonly connector: RetailConnector;
  readonly provisioning: Pick<Provisioning, 'terminals' | 'stores' | 'resolveWithoutAcquirer'>;
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
