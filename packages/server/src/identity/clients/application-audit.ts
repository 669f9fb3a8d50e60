// Writes changes of applications to the audit log, in the transaction of the change.
import { defined } from '@switchyard/contract';
import type { Queries } from '../../platform/index.ts';
import type { AuditContext, RecordChange } from '../infrastructure/audit-port.ts';
import { applicationView } from './application-management/view.ts';
import type { ApplicationRecord } from './application-record.ts';

export type ApplicationBeforeAndAfter = {
  readonly before?: ApplicationRecord;
  readonly after?: ApplicationRecord;
};
export type RecordApplicationChange = (
  trx: Queries,
  change: ApplicationBeforeAndAfter,
) => Promise<void>;

/** As application management shows it, without the user domain. */
function auditViewOf(recordChange: ApplicationRecord): object {
  const { userDomainId: _domain, ...view } = applicationView(recordChange, '');
  return view;
}

/**
 * @example await store.insert(application, now, applicationChangeRecorder(recordChange, 'created',
 * context));
 */
export function applicationChangeRecorder(
  recordChange: RecordChange,
  action: string,
  context?: AuditContext,
): RecordApplicationChange {
  return async (trx, { before, after }) => {
    const application = after ?? before;
    if (application === undefined) return;
    const { organizationId, clientId, entityType, entityId } = application;
    const entity = { type: 'application', id: clientId };
    await recordChange(trx, {
      organizationId,
      action: `application.${action}`,
      entity: entityType === 'merchant' ? { ...entity, merchantId: entityId } : entity,
      ...defined({
        before: before === undefined ? undefined : auditViewOf(before),
        after: after === undefined ? undefined : auditViewOf(after),
      }),
      request: context,
    });
  };
}
