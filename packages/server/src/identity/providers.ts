// The providers in use: one per realm, built on demand, thrown away when its signing keys change.
import { LRUCache } from 'lru-cache';
import { createRealmProvider, type ProviderDeps } from './provider.ts';
import { cachedRealmsMax } from './realms.ts';
import type { Realm } from './types.ts';

type RequestListener = ReturnType<ReturnType<typeof createRealmProvider>['callback']>;

function fingerprint({ organizationId, keys, signing }: Realm): string {
  return [organizationId, signing.ES256.keyId, signing.RS256.keyId, ...keys.keys()].join(' ');
}

export function createProviders(deps: ProviderDeps): { of(realm: Realm): RequestListener } {
  const cache = new LRUCache<string, { fingerprint: string; listener: RequestListener }>({
    max: cachedRealmsMax,
  });
  return {
    of(realm) {
      const wanted = fingerprint(realm);
      const known = cache.get(realm.userDomainId);
      if (known?.fingerprint === wanted) return known.listener;
      const listener = createRealmProvider(deps, realm).callback();
      cache.set(realm.userDomainId, { fingerprint: wanted, listener });
      return listener;
    },
  };
}
