// The providers in use: one per realm, built on demand, thrown away when its signing keys change.
import { LRUCache } from 'lru-cache';
import { atMost } from '../../../platform/index.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import type { RealmProvider } from '../../sessions/realm-provider.ts';
import { createRealmProvider, type ProviderDeps } from './create-realm-provider.ts';

/** 50 KB each; one that was let go is made again in less than a millisecond. */
const cachedProvidersMax = 500;

type RequestListener = ReturnType<RealmProvider['provider']['callback']>;
type Entry = RealmProvider & { readonly fingerprint: string; readonly listener: RequestListener };

export type Providers = {
  of(realm: Realm): RealmProvider & { readonly listener: RequestListener };
};

function fingerprint({ organizationId, keys, signing }: Realm): string {
  return [organizationId, signing.ES256.keyId, signing.RS256.keyId, ...keys.keys()].join(' ');
}

export function createProviders(deps: ProviderDeps): Providers {
  const cache = new LRUCache<string, Entry>(atMost(cachedProvidersMax));
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
