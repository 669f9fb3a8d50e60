// Writes changes of applications to the audit log, in the transaction of the change.
import { defined } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Asked, RecordChange } from '../infrastructure/audit-port.ts';
import type { ApplicationRecord } from './application.ts';
import { viewOf } from './application-management/view.ts';

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
