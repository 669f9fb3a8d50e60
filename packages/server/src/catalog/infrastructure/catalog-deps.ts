// The dependencies of the catalogue.
import type { AuditRecorder } from '../../audit/index.ts';
import type { Clock, Database, Ids, Jobs, Log, OutgoingCalls } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { ValueRules } from '../parameters/types.ts';

export type CatalogDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly audit: AuditRecorder;
  readonly provisioning: Pick<
    Provisioning,
    'merchants' | 'stores' | 'logicalDevices' | 'findDevice'
  >;
  readonly calls: OutgoingCalls;
  /** Rules for values that a schema cannot express, by the domain of the service. */
  readonly valueRules?: ValueRules;
  /** The base URL at which providers send their later answers. */
  readonly baseUrl: string;
  /**
   * The delay before each new call to a provider that did not answer; after the last the server
   * stops.
   */
  readonly retryDelaysMs?: readonly number[];
};
