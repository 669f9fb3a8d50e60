// Creates the log line of a request without any text that a client could misuse to store card data.
import type { FieldError } from '@switchyard/contract';
import type { ResponseLogEntry } from '../http/index.ts';
import { isUuid, redactText } from '../platform/index.ts';

/** The columns of the SQL statement. */
export type RequestLogLine = {
  readonly organization_id: string;
  readonly at: string;
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  readonly operation_id: string;
  readonly status: number;
  readonly code: string | null;
  readonly errors: readonly Pick<FieldError, 'pointer' | 'code'>[] | null;
  readonly duration_ms: number;
  readonly client_id: string;
  readonly user_id: string | null;
  readonly actor_organization_id: string | null;
  readonly merchant_id: string | null;
  readonly store_id: string | null;
  readonly device_id: string | null;
};

const maxErrors = 10;
const maxPointerLength = 128;

/** Path parameters that are UUIDs are shown; other values are replaced by their names. */
export function pathOf(route: string, params: Readonly<Record<string, string>>): string {
  return route.replace(/:(\w+)/g, (name: string, parameter: string) => {
    const value = params[parameter] ?? '';
    return isUuid(value) ? value : name;
  });
}

/** A client chooses member names; PostgreSQL does not store U+0000. */
function pointerText(pointer: string): string {
  return redactText(pointer).toWellFormed().replaceAll('\0', '').slice(0, maxPointerLength);
}

/** @example const line = requestLogLine(entry, isoTime(clock.now())); */
export function requestLogLine(entry: ResponseLogEntry, at: string): RequestLogLine {
  const { caller, problemError, route, params } = entry;
  const errors = problemError?.errors?.slice(0, maxErrors);
  return {
    organization_id: caller.organizationId,
    at,
    request_id: entry.requestId,
    method: entry.method,
    path: pathOf(route, params),
    operation_id: entry.operationId,
    status: entry.status,
    code: problemError?.code ?? null,
    errors: errors?.map(({ pointer, code }) => ({ pointer: pointerText(pointer), code })) ?? null,
    duration_ms: entry.durationMs,
    client_id: caller.clientId,
    user_id: caller.userId ?? null,
    actor_organization_id: caller.homeOrganizationId ?? null,
    merchant_id: caller.merchantId ?? null,
    store_id: caller.storeId ?? null,
    device_id: caller.deviceId ?? null,
  };
}
