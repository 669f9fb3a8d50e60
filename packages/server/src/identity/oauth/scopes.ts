// The scopes of the specification, and which of them an application or a user is granted.

export const scopes = ['openid', 'profile', 'email', 'phone', 'address', 'auth'] as const;

/** Also the default where a browser is sent to sign in. */
export const defaultScope = 'openid profile email';

const known: ReadonlySet<string> = new Set(scopes);
const machineDefault = 'profile email';

/** A list of scopes without repetitions, in the order in which they were asked for. */
function wantedScopes(requested: string): { wanted: Set<string> } | { unknown: string } {
  const wanted = new Set(requested.split(' ').filter((scope) => scope !== ''));
  const unknown = [...wanted].find((scope) => !known.has(scope));
  return unknown === undefined ? { wanted } : { unknown };
}

/**
 * Without a scope a machine has the default of the specification, less `openid`: there is no user
 * whom an ID token could speak of. For the same reason `openid` is accepted and not granted.
 */
export function machineScope(
  requested: string | undefined,
): { granted: string | undefined } | { unknown: string } {
  const read = wantedScopes(requested ?? machineDefault);
  if ('unknown' in read) return read;
  read.wanted.delete('openid');
  return { granted: read.wanted.size === 0 ? undefined : [...read.wanted].join(' ') };
}

/** A scope that is sent empty asks for nothing, which is the default as well. */
export function userScope(
  requested: string | undefined,
): { granted: string } | { unknown: string } {
  const read = wantedScopes(requested ?? '');
  if ('unknown' in read) return read;
  return { granted: read.wanted.size === 0 ? defaultScope : [...read.wanted].join(' ') };
}
