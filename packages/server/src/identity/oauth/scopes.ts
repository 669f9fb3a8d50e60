// The OAuth scopes of the specification, and which of them a request is granted.

export const scopes = ['openid', 'profile', 'email', 'phone', 'address', 'auth'] as const;

/** The default at the authorization endpoint and in user grants. */
export const defaultScope = 'openid profile email';

const knownScopes: ReadonlySet<string> = new Set(scopes);
const defaultMachineScope = 'profile email';

/** Removes repetitions and keeps the order. */
function parseScopes(requested: string): { requestedScopes: Set<string> } | { unknown: string } {
  const requestedScopes = new Set(requested.split(' ').filter((scope) => scope !== ''));
  const unknown = [...requestedScopes].find((scope) => !knownScopes.has(scope));
  return unknown === undefined ? { requestedScopes } : { unknown };
}

/**
 * Default for machines: that of the specification without `openid`, since there is no user for an
 * ID token. A requested `openid` is ignored.
 */
export function grantMachineScope(
  requested: string | undefined,
): { granted: string | undefined } | { unknown: string } {
  const parsed = parseScopes(requested ?? defaultMachineScope);
  if ('unknown' in parsed) return parsed;
  parsed.requestedScopes.delete('openid');
  return {
    granted: parsed.requestedScopes.size === 0 ? undefined : [...parsed.requestedScopes].join(' '),
  };
}

/** An empty scope means the default. */
export function grantUserScope(
  requested: string | undefined,
): { granted: string } | { unknown: string } {
  const parsed = parseScopes(requested ?? '');
  if ('unknown' in parsed) return parsed;
  return {
    granted:
      parsed.requestedScopes.size === 0 ? defaultScope : [...parsed.requestedScopes].join(' '),
  };
}
