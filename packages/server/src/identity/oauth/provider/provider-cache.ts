// Caches one oidc-provider instance for each realm; a change of signing keys replaces it.
import { LRUCache } from 'lru-cache';
import { lruCacheOptions } from '../../../platform/index.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import type { RealmProvider } from '../../sessions/realm-provider.ts';
import { createRealmProvider, type RealmProviderDeps } from './create-realm-provider.ts';

/** About 50 KB each; creating one again takes less than a millisecond. */
const maxCachedProviders = 500;

type RequestListener = ReturnType<RealmProvider['provider']['callback']>;
type CachedProvider = RealmProvider & {
  readonly fingerprint: string;
  readonly listener: RequestListener;
};

export type ProviderCache = {
  get(realm: Realm): RealmProvider & { readonly listener: RequestListener };
};

function fingerprint({ organizationId, keys, signing }: Realm): string {
  return [organizationId, signing.ES256.keyId, signing.RS256.keyId, ...keys.keys()].join(' ');
}

export function createProviderCache(deps: RealmProviderDeps): ProviderCache {
  const cache = new LRUCache<string, CachedProvider>(lruCacheOptions(maxCachedProviders));
  return {
    get(realm) {
      const currentFingerprint = fingerprint(realm);
      const cached = cache.get(realm.userDomainId);
      if (cached?.fingerprint === currentFingerprint) return cached;
      const realmProvider = createRealmProvider(deps, realm);
      const entry = {
        ...realmProvider,
        fingerprint: currentFingerprint,
        listener: realmProvider.provider.callback(),
      };
      cache.set(realm.userDomainId, entry);
      return entry;
    },
  };
}
