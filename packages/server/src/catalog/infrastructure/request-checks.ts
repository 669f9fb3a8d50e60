// Checks that several requests of the catalogue share.
import { type ErrorCode, throwProblem } from '@switchyard/contract';
import type { Scope } from './caller-scope.ts';

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
