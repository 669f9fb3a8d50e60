// Finds the address and the keys for calls to the provider of a service, with a short cache.
import { defined } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import {
  type Clock,
  createPreparedQueries,
  type Database,
  listKeysStillSigning,
  lruCacheOptions,
  toRecords,
} from '../../platform/index.ts';
import type { ServiceStatus, SigningSecretRecord } from './service-sql.ts';
import type { SigningKeys, SigningSecrets } from './signing-secrets.ts';

const cachedEndpointsMax = 1_000;
/** A change in another process becomes visible after at most this time; a local change at once. */
const cacheTtlMs = 5_000;

/** A service in the release in force; a retired service stays callable for its users. */
export type ProviderEndpoint = {
  readonly serviceId: string;
  /** The organisation that provides it. */
  readonly providerId: string;
  readonly release: number;
  readonly status: ServiceStatus;
  readonly spiUrl?: string;
  /** The keys that sign calls now: the current key, and older keys until they expire. */
  signingKeys(): SigningKeys;
};

export type ProviderEndpoints = {
  find(serviceId: string): Promise<ProviderEndpoint | undefined>;
  clearCache(): void;
};

type EndpointRecord = SigningSecretRecord & {
  providerId: string;
  release: number;
  status: ServiceStatus;
  spiUrl?: string;
};

const endpointSql = `SELECT organization_id AS provider_id, release, status, published->>'spiUrl' AS spi_url,
    secret_sealed, previous_sealed, previous_until, older_keys
  FROM catalogue_services WHERE service_id = $1 AND published IS NOT NULL`;

/** @example const { find } = createProviderEndpointCache({ database, clock }, signingSecrets); */
export function createProviderEndpointCache(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  signingSecrets: SigningSecrets,
): ProviderEndpoints {
  const queries = createPreparedQueries(database, 'catalog');
  const cache = new LRUCache<
    string,
    { until: number; endpoint: Promise<ProviderEndpoint | undefined> }
  >(lruCacheOptions(cachedEndpointsMax));

  async function loadEndpoint(serviceId: string): Promise<ProviderEndpoint | undefined> {
    const [row] = toRecords<EndpointRecord>(await queries.query(endpointSql, [serviceId]));
    if (row === undefined) return undefined;
    const { providerId, release, status, spiUrl } = row;
    // The server decrypts the keys once per cache entry; an older key may expire within that time.
    const decryptedKeys = signingSecrets.decrypt(serviceId, row);
    const allKeys = signingSecrets.toSigningKeys(decryptedKeys);
    const validUntil = Math.min(
      ...listKeysStillSigning(row, clock.now()).map(({ until }) => until),
    );
    return {
      serviceId,
      providerId,
      release,
      status,
      ...defined({ spiUrl }),
      signingKeys: () =>
        clock.now() < validUntil
          ? allKeys
          : signingSecrets.toSigningKeys(signingSecrets.decrypt(serviceId, row)),
    };
  }

  return {
    find(serviceId) {
      const now = clock.now();
      const cached = cache.get(serviceId);
      if (cached !== undefined && now < cached.until) return cached.endpoint;
      const entry = { until: now + cacheTtlMs, endpoint: loadEndpoint(serviceId) };
      cache.set(serviceId, entry);
      entry.endpoint.catch(() => {
        if (cache.peek(serviceId) === entry) cache.delete(serviceId);
      });
      return entry.endpoint;
    },
    clearCache: () => cache.clear(),
  };
}
