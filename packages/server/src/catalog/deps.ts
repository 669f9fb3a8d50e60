// The dependencies of the catalogue, and the scope and author of a caller.
import { defined, type ErrorCode, throwProblem } from '@switchyard/contract';
import type { AuditRecorder, Author } from '../audit/index.ts';
import type { Caller } from '../http/index.ts';
import type { Clock, Database, Ids, Jobs, Log, OutgoingCalls } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type { ValueRules } from './configuration/types.ts';

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

/** The organisation of a caller, and the merchant and device that the caller is bound to. */
export type Scope = {
  readonly organizationId: string;
  readonly merchantId?: string;
  readonly deviceId?: string;
};

/** A scope with the author that the audit records for changes. */
export type By = Scope & { readonly author: Author };

export function scopeOf(caller: Caller): Scope {
  const { organizationId, deviceId } = caller;
  const merchantId = caller.entityType === 'merchant' ? caller.entityId : caller.merchantId;
  return {
    organizationId,
    ...defined({ merchantId, deviceId }),
  };
}

/**
 * A device may read its usable services, but not the agreements of administrators and providers.
 */
export function refuseDevices(scope: Scope): void {
  if (scope.deviceId === undefined) return;
  throwProblem('permission_denied', 'A device reads its own services alone.');
}

export function demandOrganization(scope: Scope, what: string): void {
  if (scope.merchantId === undefined) return;
  throwProblem('permission_denied', `Only the organisation ${what}.`);
}

export function refuseField(
  pointer: string,
  detail: string,
  code: ErrorCode = 'field_invalid',
): never {
  return throwProblem(code, `${pointer.slice(1)} ${detail}.`, {
    errors: [{ pointer, code, detail }],
  });
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** PostgreSQL fails on a text that is no UUID when it searches a column of identifiers. */
export const isUuid = (text: string): boolean => uuid.test(text);

/** A client may send read-only members back unchanged; the server refuses changed ones. */
export function refuseChanges(
  input: Readonly<Record<string, unknown>>,
  standing: Readonly<Record<string, unknown>>,
): void {
  for (const [member, value] of Object.entries(standing)) {
    if (input[member] === undefined || input[member] === value) continue;
    refuseField(`/${member}`, 'is read-only', 'field_read_only');
  }
}
