// The scopes of the specification, and which of them a machine is granted.

export const scopes = ['openid', 'profile', 'email', 'phone', 'address'] as const;

const known: ReadonlySet<string> = new Set(scopes);
const machineDefault = 'profile email';

/**
 * Without a scope a machine has the default of the specification, less `openid`: there is no user
 * whom an ID token could speak of. For the same reason `openid` is accepted and not granted.
 */
export function machineScope(
  requested: string | undefined,
): { granted: string | undefined } | { unknown: string } {
  const wanted = new Set((requested ?? machineDefault).split(' '));
  const unknown = [...wanted].find((scope) => !known.has(scope));
  if (unknown !== undefined) return { unknown };
  wanted.delete('openid');
  return { granted: wanted.size === 0 ? undefined : [...wanted].join(' ') };
}
