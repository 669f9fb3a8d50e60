// The providers in use: one per realm, built on demand, thrown away when its signing keys change.
import { LRUCache } from 'lru-cache';
import { createLibraryClients } from './library-clients.ts';
import { createRealmProvider, type ProviderDeps, type RealmProvider } from './provider.ts';
import { cachedRealmsMax } from './realms.ts';
import type { Realm } from './types.ts';

type RequestListener = ReturnType<RealmProvider['provider']['callback']>;
type Entry = RealmProvider & { readonly fingerprint: string; readonly listener: RequestListener };

export type Providers = {
  of(realm: Realm): RealmProvider & { readonly listener: RequestListener };
};

function fingerprint({ organizationId, keys, signing }: Realm): string {
  return [organizationId, signing.ES256.keyId, signing.RS256.keyId, ...keys.keys()].join(' ');
}

export function createProviders(given: Omit<ProviderDeps, 'libraryClients'>): Providers {
  const deps: ProviderDeps = { ...given, libraryClients: createLibraryClients() };
  const cache = new LRUCache<string, Entry>({ max: cachedRealmsMax });
  return {
    of(realm) {
      const wanted = fingerprint(realm);
      const known = cache.get(realm.userDomainId);
      if (known?.fingerprint === wanted) return known;
      const made = createRealmProvider(deps, realm);
      const entry = { ...made, fingerprint: wanted, listener: made.provider.callback() };
      cache.set(realm.userDomainId, entry);
      return entry;
    },
  };
}
