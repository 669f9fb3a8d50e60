// What an import needs, and what it was asked for.
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
  /** Who gives credentials to points of sale. */
  readonly tills: () => TillApplications;
  /** Left out, what was answered is kept for ever: for tests of other things. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue'> | undefined;
  /** Called after each committed chunk. */
  readonly onWrite: (organizationId: string) => void;
};

export type Asked = {
  readonly scope: Scope;
  readonly format: Format;
  readonly body: AsyncIterable<Buffer>;
  readonly bulkId: string;
};
