// What identity tells the audit, which it knows by this port alone.
import type { Kysely } from 'kysely';
import type { Caller } from '../../http/index.ts';

/** Who asked for a change, in which request: a request of the server is one. */
export type AuditContext = { readonly caller: Caller; readonly id: string };

export type Change = {
  readonly organizationId: string;
  /** `application.created`. */
  readonly action: string;
  readonly entity: { readonly type: string; readonly id: string; readonly merchantId?: string };
  readonly before?: object;
  readonly after?: object;
  /** Left out: the platform itself. */
  readonly asked?: AuditContext | undefined;
};

/** Within the transaction of the change, as its last statement: both hold, or neither. */
export type RecordChange = (trx: Kysely<unknown>, change: Change) => Promise<void>;

/** For tests and tools that change nothing of which somebody has to know. */
export const recordNothing: RecordChange = async () => {};
