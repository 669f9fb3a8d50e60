// The dependencies and the parameters of an import.
import type { AuditRecorder } from '../../audit/index.ts';
import type { Clock, Database, Ids, Jobs } from '../../platform/index.ts';
import type { TillApplications } from '../points-of-sale.ts';
import type { Scope } from '../scope.ts';
import type { Format } from './progress.ts';

export type BulkDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: Pick<AuditRecorder, 'recordAll'>;
  /** Creates the credentials of points of sale. */
  readonly tills: () => TillApplications;
  /** If absent, the results are never deleted; for tests only. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue'> | undefined;
  /** The import calls this after each committed chunk. */
  readonly onWrite: (organizationId: string) => void;
};

export type Asked = {
  readonly scope: Scope;
  readonly format: Format;
  readonly body: AsyncIterable<Buffer>;
  readonly bulkId: string;
};
