/** The two addresses that open the portal: that of acquirers and merchants, and that of providers. */
export type Entry = 'portal' | 'provider-portal';

export function entryOf(pathname: string): Entry {
  return pathname.startsWith('/provider-portal') ? 'provider-portal' : 'portal';
}

export const entry: Entry = entryOf(location.pathname);
