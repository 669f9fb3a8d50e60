// Creates the data keys of organisations, caches them for minutes and then zeroes them.
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock, Ids, Log, Metrics } from '../platform/index.ts';
import {
  type KeyIdentity,
  type KeyProvider,
  KeyProviderError,
} from './key-providers/open-key-provider.ts';
import type { VaultKey, VaultKeyStore } from './vault-key-sql.ts';

const keyBytes = 32;
const checkValueDigits = 8;
/** No key stays in memory longer than five minutes; the next check zeroes keys of this age. */
const cachedMs = 285_000;
const evictEveryMs = 10_000;
/**
 * From this age on, the vault fetches the key again in the background, so that no sale waits for
 * it.
 */
const refreshAfterMs = 200_000;
const cachedKeysMax = 5_000;
/** More than one attempt is only needed if thousands of organisations evict each other's keys. */
const fetchAttempts = 3;

/** For immediate use: the vault zeroes the bytes when the cache time ends. */
export type DataKey = { readonly keyId: string; readonly bytes: Buffer };

type CachedKey = DataKey & { readonly organizationId: string; readonly since: number };

type Deps = {
  store: VaultKeyStore;
  provider: KeyProvider;
  clock: Clock;
  ids: Ids;
  log: Log;
  unwraps: UnwrapCounter;
};

export type DataKeys = ReturnType<typeof createDataKeys>;

/** Identifies the wrapped key, and reveals nothing of it. */
export function computeCheckValue(key: Buffer): string {
  return createHmac('sha256', key)
    .update('switchyard vault key check')
    .digest('hex')
    .slice(0, checkValueDigits);
}

/** Creates a key that is wrapped for its owner and purpose, and zeroes the clear bytes. */
export async function createWrappedKey(
  { provider, clock }: Pick<Deps, 'provider' | 'clock'>,
  identity: KeyIdentity,
  bytes: Buffer = randomBytes(keyBytes),
): Promise<VaultKey> {
  const { bytes: wrapped, wrappedBy } = await provider.wrap(bytes, identity);
  const checkValue = computeCheckValue(bytes);
  bytes.fill(0);
  const at = clock.now();
  return {
    ...identity,
    wrapped,
    wrappedBy,
    checkValue,
    state: 'Active',
    createdAt: at,
    changedAt: at,
  };
}

/**
 * Counts the outcome.
 *
 * @throws KeyProviderError `Refused` if it is not the stored key
 */
export async function unwrapKey(
  { provider, unwraps }: Pick<Deps, 'provider' | 'unwraps'>,
  key: VaultKey,
): Promise<Buffer> {
  try {
    const bytes = await unwrapWith(provider, key);
    unwraps.inc({ outcome: 'unwrapped' });
    return bytes;
  } catch (error) {
    const code = error instanceof KeyProviderError ? error.code : 'Unavailable';
    unwraps.inc({ outcome: code.toLowerCase() });
    throw error;
  }
}

async function unwrapWith(provider: KeyProvider, key: VaultKey): Promise<Buffer> {
  const { wrapped, wrappedBy } = key;
  if (wrapped === undefined) {
    throw new KeyProviderError('Refused', `the key ${key.keyId} was destroyed`);
  }
  const bytes = await provider.unwrap({ bytes: wrapped, wrappedBy }, key);
  if (bytes.length === keyBytes && computeCheckValue(bytes) === key.checkValue) return bytes;
  bytes.fill(0);
  throw new KeyProviderError('Refused', `the key ${key.keyId} does not match its check value`);
}

export type UnwrapCounter = ReturnType<typeof createUnwrapCounter>;

/** Registered before the vault opens: an increase of a series that does not exist yet raises no alarm. */
export function createUnwrapCounter(metrics: Metrics) {
  const unwraps = metrics.counter({
    name: 'switchyard_vault_keys_unwrapped_total',
    help: 'Requests to the key provider to unwrap a key of the vault, by outcome',
    labelNames: ['outcome'],
  });
  for (const outcome of ['unwrapped', 'refused', 'unavailable']) unwraps.inc({ outcome }, 0);
  return unwraps;
}

/** @example const keys = createDataKeys(deps); await keys.withActiveKey(organizationId, ({ bytes }) => …); */
export function createDataKeys(deps: Deps) {
  const { store, clock, ids, log } = deps;
  const cache = new Map<string, CachedKey>();
  /** The active key of each organisation, as of the last read. */
  const activeIds = new Map<string, string>();
  const loading = new Map<string, Promise<void>>();
  let evictionTimer: NodeJS.Timeout | undefined;

  function ageOf({ since }: CachedKey): number {
    const age = clock.now() - since;
    // A clock that was set back must not extend the cache time.
    return age < 0 ? cachedMs : age;
  }

  function evict(keyId: string): void {
    const key = cache.get(keyId);
    key?.bytes.fill(0);
    cache.delete(keyId);
    if (key !== undefined && activeIds.get(key.organizationId) === keyId) {
      activeIds.delete(key.organizationId);
    }
  }

  function evictExpired(): void {
    for (const [keyId, key] of cache) if (ageOf(key) >= cachedMs) evict(keyId);
  }

  function cacheKey(key: VaultKey, bytes: Buffer): void {
    evict(key.keyId);
    const [oldest] = cache.keys();
    if (cache.size >= cachedKeysMax && oldest !== undefined) evict(oldest);
    const { keyId, organizationId } = key;
    cache.set(keyId, { keyId, organizationId, bytes, since: clock.now() });
    if (key.state === 'Active') activeIds.set(organizationId, keyId);
    evictionTimer ??= setInterval(evictExpired, evictEveryMs).unref();
  }

  async function unwrapAndCache(key: VaultKey): Promise<void> {
    try {
      cacheKey(key, await unwrapKey(deps, key));
    } catch (error) {
      if (error instanceof KeyProviderError && error.code === 'Refused') {
        log.error({ err: error, ...toLogFields(key) }, 'the key provider refused a vault key');
      }
      throw error;
    }
  }

  /** Runs one fetch at a time for each name; parallel callers share it. */
  function shareFetch(name: string, work: () => Promise<void>): Promise<void> {
    const running = loading.get(name) ?? work().finally(() => loading.delete(name));
    loading.set(name, running);
    return running;
  }

  async function loadById(organizationId: string, keyId: string): Promise<void> {
    const key = await store.find(organizationId, keyId);
    if (key === undefined) throw new KeyProviderError('Refused', `there is no key ${keyId}`);
    await unwrapAndCache(key);
  }

  async function loadActive(organizationId: string): Promise<void> {
    const active = await store.findActive(organizationId, 'Data');
    if (active !== undefined) return unwrapAndCache(active);
    const identity = { organizationId, keyId: ids.uuid(), purpose: 'Data' } as const;
    await store.add(await createWrappedKey(deps, identity));
    // The new key is read and unwrapped before its first use, to prove that it can decrypt.
    const created = await store.findActive(organizationId, 'Data');
    if (created === undefined) throw new Error('a new vault key no longer exists');
    if (created.keyId === identity.keyId) log.info(toLogFields(created), 'a vault key was created');
    return unwrapAndCache(created);
  }

  function refresh(organizationId: string, name: string, work: () => Promise<void>): void {
    if (loading.has(name)) return;
    shareFetch(name, work).catch((error: unknown) => {
      log.warn({ err: error, organizationId }, 'a vault key could not be refreshed');
    });
  }

  function findCached(organizationId: string, keyId: string): DataKey | undefined {
    const key = cache.get(keyId);
    if (key === undefined || key.organizationId !== organizationId) return undefined;
    const age = ageOf(key);
    if (age >= cachedMs) return undefined;
    if (age >= refreshAfterMs) {
      const isActive = activeIds.get(organizationId) === keyId;
      if (isActive) refresh(organizationId, organizationId, () => loadActive(organizationId));
      else refresh(organizationId, keyId, () => loadById(organizationId, keyId));
    }
    return key;
  }

  function findCachedActive(organizationId: string): DataKey | undefined {
    const keyId = activeIds.get(organizationId);
    return keyId === undefined ? undefined : findCached(organizationId, keyId);
  }

  /** `work` must be synchronous, because the key can be zeroed during a wait. */
  function useKey<Result>(
    find: () => DataKey | undefined,
    fetchKey: () => Promise<void>,
    work: (key: DataKey) => Result,
  ): Result | Promise<Result> {
    const key = find();
    return key === undefined ? fetchAndUse(find, fetchKey, work) : work(key);
  }

  async function fetchAndUse<Result>(
    find: () => DataKey | undefined,
    fetchKey: () => Promise<void>,
    work: (key: DataKey) => Result,
  ): Promise<Result> {
    for (let attempt = 0; attempt < fetchAttempts; attempt += 1) {
      await fetchKey();
      const key = find();
      if (key !== undefined) return work(key);
    }
    throw new KeyProviderError('Unavailable', 'other keys evicted the key from the cache');
  }

  return {
    /** Uses the key that encrypts new cards; the first card of an organisation creates it. */
    withActiveKey: <Result>(organizationId: string, work: (key: DataKey) => Result) =>
      useKey(
        () => findCachedActive(organizationId),
        () => shareFetch(organizationId, () => loadActive(organizationId)),
        work,
      ),
    withKey: <Result>(organizationId: string, keyId: string, work: (key: DataKey) => Result) =>
      useKey(
        () => findCached(organizationId, keyId),
        () => shareFetch(keyId, () => loadById(organizationId, keyId)),
        work,
      ),
    /** The next use reads the active key from the database. */
    clearActive(organizationId: string): void {
      activeIds.delete(organizationId);
    },
    /** The number of clear keys in memory. */
    cachedKeyCount: () => cache.size,
    zeroOld: evictExpired,
    close(): void {
      clearInterval(evictionTimer);
      for (const keyId of [...cache.keys()]) evict(keyId);
    },
  };
}

function toLogFields({ organizationId, keyId, purpose, state, wrappedBy }: VaultKey) {
  return { organizationId, keyId, purpose, state, wrappedBy };
}
