// The port by which identity writes to the audit log; the module does not import audit.
import type { Caller } from '../../http/index.ts';
import type { Queries } from '../../platform/index.ts';

/** The caller and the request id of a change, for the audit log. A Fastify request has both. */
export type AuditContext = { readonly caller: Caller; readonly id: string };

export type AuditChange = {
  readonly organizationId: string;
  /** Example: `application.created`. */
  readonly action: string;
  readonly entity: { readonly type: string; readonly id: string; readonly merchantId?: string };
  readonly before?: object;
  readonly after?: object;
  /** Default: the platform itself. */
  readonly request?: AuditContext | undefined;
};

/** Runs as the last statement of the transaction of the change, so that both commit or neither. */
export type RecordChange = (trx: Queries, change: AuditChange) => Promise<void>;

/** For tests and tools without an audit log. */
export const recordNothing: RecordChange = async () => {};
