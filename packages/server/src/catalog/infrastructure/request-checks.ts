// Checks that several requests of the catalogue share.
import { type ErrorCode, throwProblem } from '@switchyard/contract';
import type { CallerScope } from './caller-scope.ts';

/**
 * A device may read its usable services, but not the agreements of administrators and providers.
 */
export function requireNonDeviceCaller(scope: CallerScope): void {
  if (scope.deviceId === undefined) return;
  throwProblem('permission_denied', 'A device may read only its own services.');
}

export function requireOrganizationScope(scope: CallerScope, action: string): void {
  if (scope.merchantId === undefined) return;
  throwProblem(
    'permission_denied',
    `Only a token of the organisation may ${action}; your token belongs to a merchant or a store.`,
  );
}

export function throwMemberProblem(
  pointer: string,
  detail: string,
  code: ErrorCode = 'field_invalid',
): never {
  return throwProblem(code, `${pointer.slice(1)} ${detail}.`, {
    errors: [{ pointer, code, detail }],
  });
}

/** A client may send read-only members back unchanged; the server refuses changed ones. */
export function requireUnchangedMembers(
  input: Readonly<Record<string, unknown>>,
  current: Readonly<Record<string, unknown>>,
): void {
  for (const [member, value] of Object.entries(current)) {
    if (input[member] === undefined || input[member] === value) continue;
    throwMemberProblem(`/${member}`, 'is read-only', 'field_read_only');
  }
}
