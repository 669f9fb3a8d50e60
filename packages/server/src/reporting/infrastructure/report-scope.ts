// Defines which payments a caller may see: those of the organisation, a merchant or a store.
import { throwProblem } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';

export type Scope = {
  readonly organizationId: string;
  readonly merchantId: string | undefined;
  readonly storeId: string | undefined;
  readonly deviceId: string | undefined;
};

type Asked = {
  readonly merchantId?: string;
  readonly storeId?: string;
  readonly deviceId?: string;
};

/**
 * The scope of a request: the binding of the token, or an entity that the request names within it.
 *
 * @throws Refusal entity_out_of_scope if the token is bound to another merchant, store or device
 */
export function scopeOf(caller: Caller, asked: Asked): Scope {
  const { organizationId, entityType, entityId } = caller;
  const merchantId = entityType === 'merchant' ? entityId : caller.merchantId;
  return {
    organizationId,
    merchantId: bound('merchant', merchantId, asked.merchantId),
    storeId: bound('store', caller.storeId, asked.storeId),
    deviceId: bound('device', caller.deviceId, asked.deviceId),
  };
}

function bound(name: string, own: string | undefined, asked: string | undefined) {
  const named = asked?.toLowerCase();
  if (own === undefined) return named;
  if (named !== undefined && named !== own.toLowerCase()) {
    throwProblem('entity_out_of_scope', `The token is good for another ${name}.`);
  }
  return own.toLowerCase();
}
