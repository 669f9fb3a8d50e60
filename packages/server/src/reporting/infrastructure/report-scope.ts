// Defines which payments a caller may see: those of the organisation, a merchant or a store.
import { throwProblem } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';

export type ReportScope = {
  readonly organizationId: string;
  readonly merchantId: string | undefined;
  readonly storeId: string | undefined;
  readonly deviceId: string | undefined;
};

type RequestedEntities = {
  readonly merchantId?: string;
  readonly storeId?: string;
  readonly deviceId?: string;
};

/**
 * The scope of a request: the binding of the token, or an entity that the request names within it.
 *
 * @throws ProblemError entity_out_of_scope if the token is bound to another merchant, store or device
 */
export function readReportScope(caller: Caller, requested: RequestedEntities): ReportScope {
  const { organizationId, entityType, entityId } = caller;
  const merchantId = entityType === 'merchant' ? entityId : caller.merchantId;
  return {
    organizationId,
    merchantId: narrow('merchant', merchantId, requested.merchantId),
    storeId: narrow('store', caller.storeId, requested.storeId),
    deviceId: narrow('device', caller.deviceId, requested.deviceId),
  };
}

function narrow(name: string, ownId: string | undefined, requestedId: string | undefined) {
  const requestedLower = requestedId?.toLowerCase();
  if (ownId === undefined) return requestedLower;
  if (requestedLower !== undefined && requestedLower !== ownId.toLowerCase()) {
    throwProblem('entity_out_of_scope', `The token is bound to another ${name}.`);
  }
  return ownId.toLowerCase();
}
