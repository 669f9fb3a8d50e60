// The scopes of the specification, and which of them an application or a user is granted.

export const scopes = ['openid', 'profile', 'email', 'phone', 'address', 'auth'] as const;

/** Also the default where a browser is sent to sign in. */
export const defaultScope = 'openid profile email';

const knownScopes: ReadonlySet<string> = new Set(scopes);
const defaultMachineScope = 'profile email';

/** A list of scopes without repetitions, in the order in which they were asked for. */
function parseScopes(requested: string): { wanted: Set<string> } | { unknown: string } {
  const wanted = new Set(requested.split(' ').filter((scope) => scope !== ''));
  const unknown = [...wanted].find((scope) => !knownScopes.has(scope));
  return unknown === undefined ? { wanted } : { unknown };
}

/**
 * Without a scope a machine has the default of the specification, less `openid`: there is no user
 * whom an ID token could speak of. For the same reason `openid` is accepted and not granted.
 */
export function grantMachineScope(
  requested: string | undefined,
): { granted: string | undefined } | { unknown: string } {
  const parsed = parseScopes(requested ?? defaultMachineScope);
  if ('unknown' in parsed) return parsed;
  parsed.wanted.delete('openid');
  return { granted: parsed.wanted.size === 0 ? undefined : [...parsed.wanted].join(' ') };
}

/** A scope that is sent empty asks for nothing, which is the default as well. */
export function grantUserScope(
  requested: string | undefined,
): { granted: string } | { unknown: string } {
  const parsed = parseScopes(requested ?? '');
  if ('unknown' in parsed) return parsed;
  return { granted: parsed.wanted.size === 0 ? defaultScope : [...parsed.wanted].join(' ') };
}
