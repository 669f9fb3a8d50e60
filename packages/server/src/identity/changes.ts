// What identity tells the audit, which it knows by this port alone.
import { defined } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Caller } from '../http/index.ts';
import { viewOf } from './application-management/view.ts';
import type { ApplicationRecord } from './types.ts';

/** Who asked for a change, in which request: a request of the server is one. */
export type Asked = { readonly caller: Caller; readonly id: string };

export type Change = {
  readonly organizationId: string;
  /** `application.created`. */
  readonly action: string;
  readonly entity: { readonly type: string; readonly id: string; readonly merchantId?: string };
  readonly before?: object;
  readonly after?: object;
  /** Left out: the platform itself. */
  readonly asked?: Asked | undefined;
};

/** Within the transaction of the change, as its last statement: both hold, or neither. */
export type RecordChange = (trx: Kysely<unknown>, change: Change) => Promise<void>;

/** For tests and tools that change nothing of which somebody has to know. */
export const recordNothing: RecordChange = async () => {};

export type ApplicationChange = {
  readonly before?: ApplicationRecord;
  readonly after?: ApplicationRecord;
};
export type TellApplication = (trx: Kysely<unknown>, change: ApplicationChange) => Promise<void>;

/** As application management shows it; its user domain is the organisation's. */
function shown(record: ApplicationRecord): object {
  const { userDomainId: _domain, ...view } = viewOf(record, '');
  return view;
}

/** @example await store.insert(application, now, telling(recordChange, 'created', asked)); */
export function telling(record: RecordChange, done: string, asked?: Asked): TellApplication {
  return async (trx, { before, after }) => {
    const one = after ?? before;
    if (one === undefined) return;
    const { organizationId, clientId, entityType, entityId } = one;
    const entity = { type: 'application', id: clientId };
    await record(trx, {
      organizationId,
      action: `application.${done}`,
      entity: entityType === 'merchant' ? { ...entity, merchantId: entityId } : entity,
      ...defined({
        before: before === undefined ? undefined : shown(before),
        after: after === undefined ? undefined : shown(after),
      }),
      asked,
    });
  };
}
