// Finds the address and the keys for calls to the provider of a service, with a short cache.
import { LRUCache } from 'lru-cache';
import {
  type Clock,
  type Database,
  listActiveRetiredKeys,
  lruCacheOptions,
} from '../../platform/index.ts';
import { runPrepared } from '../infrastructure/statement-runner.ts';
import type { SecretRow, ServiceStatus } from './service-sql.ts';
import type { Signers, SigningSecrets } from './signing-secrets.ts';

const rememberedMax = 1_000;
/** A change in another process becomes visible after at most this time; a local change at once. */
const rememberedMs = 5_000;

/** A service in the release in force; a retired service stays callable for its users. */
export type CallableService = {
  readonly serviceId: string;
  /** The organisation that provides it. */
  readonly providerId: string;
  readonly release: number;
  readonly status: ServiceStatus;
  readonly spiUrl?: string;
  /** The keys that sign calls now: the current key, and older keys until they expire. */
  signers(): Signers;
};

export type CallableServices = {
  find(serviceId: string): Promise<CallableService | undefined>;
  clear(): void;
};

type CallableRow = SecretRow & {
  organization_id: string;
  release: number;
  status: ServiceStatus;
  spi_url: string | null;
};

const callableText = `SELECT organization_id, release, status, published->>'spiUrl' AS spi_url,
    secret_sealed, previous_sealed, previous_until, older_keys
  FROM catalogue_services WHERE service_id = $1 AND published IS NOT NULL`;

/** @example const { find } = createCallableServices({ database, clock }, secrets); */
export function createCallableServices(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  secrets: SigningSecrets,
): CallableServices {
  const run = runPrepared(database);
  const remembered = new LRUCache<
    string,
    { until: number; found: Promise<CallableService | undefined> }
  >(lruCacheOptions(rememberedMax));

  async function load(serviceId: string): Promise<CallableService | undefined> {
    const [row] = (await run(callableText, [serviceId])) as CallableRow[];
    if (row === undefined) return undefined;
    const { organization_id: providerId, release, status, spi_url: spiUrl } = row;
    // The server decrypts the keys once per cache entry; an older key may expire within that time.
    const opened = secrets.open(serviceId, row);
    const all = secrets.signers(opened);
    const endsAt = Math.min(...listActiveRetiredKeys(row, clock.now()).map(({ until }) => until));
    return {
      serviceId,
      providerId,
      release,
      status,
      ...(spiUrl === null ? {} : { spiUrl }),
      signers: () => (clock.now() < endsAt ? all : secrets.signers(secrets.open(serviceId, row))),
    };
  }

  return {
    find(serviceId) {
      const now = clock.now();
      const known = remembered.get(serviceId);
      if (known !== undefined && now < known.until) return known.found;
      const entry = { until: now + rememberedMs, found: load(serviceId) };
      remembered.set(serviceId, entry);
      entry.found.catch(() => {
        if (remembered.peek(serviceId) === entry) remembered.delete(serviceId);
      });
      return entry.found;
    },
    clear: () => remembered.clear(),
  };
}
