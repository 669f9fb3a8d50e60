// Creates the data keys of organisations, caches them for minutes and then zeroes them.
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock, Ids, Log, Metrics } from '../platform/index.ts';
import {
  type KeyPlace,
  type KeyProvider,
  KeyProviderFault,
} from './key-providers/open-key-provider.ts';
import type { KeyStore, StoredKey } from './vault-key-sql.ts';

const keyBytes = 32;
const checkDigits = 8;
/** No key stays in memory longer than five minutes; the next check zeroes keys of this age. */
const heldMs = 285_000;
const lookEveryMs = 10_000;
/**
 * From this age on, the vault fetches the key again in the background, so that no sale waits for
 * it.
 */
const refreshAfterMs = 200_000;
const heldKeysMax = 5_000;
/** More than one attempt is only needed if thousands of organisations evict each other's keys. */
const fetchTurns = 3;

/** For immediate use: the vault zeroes the bytes when the cache time ends. */
export type DataKey = { readonly keyId: string; readonly bytes: Buffer };

type Held = DataKey & { readonly organizationId: string; readonly since: number };

type Deps = {
  store: KeyStore;
  provider: KeyProvider;
  clock: Clock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
};

export type DataKeys = ReturnType<typeof createDataKeys>;

/** Identifies the wrapped key, and reveals nothing of it. */
export function checkValueOf(key: Buffer): string {
  return createHmac('sha256', key)
    .update('switchyard vault key check')
    .digest('hex')
    .slice(0, checkDigits);
}

/** Creates a key that is wrapped for its owner and purpose, and zeroes the clear bytes. */
export async function newKey(
  { provider, clock }: Pick<Deps, 'provider' | 'clock'>,
  place: KeyPlace,
  bytes: Buffer = randomBytes(keyBytes),
): Promise<StoredKey> {
  const { bytes: wrapped, wrappedBy } = await provider.wrap(bytes, place);
  const checkValue = checkValueOf(bytes);
  bytes.fill(0);
  const at = clock.now();
  return {
    ...place,
    wrapped,
    wrappedBy,
    checkValue,
    state: 'Active',
    createdAt: at,
    changedAt: at,
  };
}

/** @throws KeyProviderFault `Refused` if it is not the stored key */
export async function unwrapped(provider: KeyProvider, key: StoredKey): Promise<Buffer> {
  const { wrapped, wrappedBy } = key;
  if (wrapped === undefined) {
    throw new KeyProviderFault('Refused', `the key ${key.keyId} was destroyed`);
  }
  const bytes = await provider.unwrap({ bytes: wrapped, wrappedBy }, key);
  if (bytes.length === keyBytes && checkValueOf(bytes) === key.checkValue) return bytes;
  bytes.fill(0);
  throw new KeyProviderFault('Refused', `the key ${key.keyId} was exchanged for another`);
}

/** @example const keys = createDataKeys(deps); await keys.withActive(organizationId, ({ bytes }) => …); */
export function createDataKeys(deps: Deps) {
  const { store, provider, clock, ids, log } = deps;
  const held = new Map<string, Held>();
  /** The active key of each organisation, as of the last read. */
  const activeIds = new Map<string, string>();
  const loading = new Map<string, Promise<void>>();
  const unwraps = deps.metrics.counter({
    name: 'switchyard_vault_keys_unwrapped_total',
    help: 'Keys of the vault that were unwrapped by the key provider',
    labelNames: ['outcome'],
  });
  let looking: NodeJS.Timeout | undefined;

  function ageOf({ since }: Held): number {
    const age = clock.now() - since;
    // A clock that was set back must not extend the cache time.
    return age < 0 ? heldMs : age;
  }

  function drop(keyId: string): void {
    const key = held.get(keyId);
    key?.bytes.fill(0);
    held.delete(keyId);
    if (key !== undefined && activeIds.get(key.organizationId) === keyId) {
      activeIds.delete(key.organizationId);
    }
  }

  function zeroOld(): void {
    for (const [keyId, key] of held) if (ageOf(key) >= heldMs) drop(keyId);
  }

  function hold(key: StoredKey, bytes: Buffer): void {
    drop(key.keyId);
    const [oldest] = held.keys();
    if (held.size >= heldKeysMax && oldest !== undefined) drop(oldest);
    const { keyId, organizationId } = key;
    held.set(keyId, { keyId, organizationId, bytes, since: clock.now() });
    if (key.state === 'Active') activeIds.set(organizationId, keyId);
    looking ??= setInterval(zeroOld, lookEveryMs).unref();
  }

  async function load(key: StoredKey): Promise<void> {
    try {
      hold(key, await unwrapped(provider, key));
      unwraps.inc({ outcome: 'unwrapped' });
    } catch (error) {
      const code = error instanceof KeyProviderFault ? error.code : 'Unavailable';
      unwraps.inc({ outcome: code.toLowerCase() });
      if (code === 'Refused') {
        log.error({ err: error, ...facts(key) }, 'a key of the vault was refused');
      }
      throw error;
    }
  }

  /** Runs one fetch at a time for each name; parallel callers share it. */
  function once(name: string, work: () => Promise<void>): Promise<void> {
    const running = loading.get(name) ?? work().finally(() => loading.delete(name));
    loading.set(name, running);
    return running;
  }

  async function loadById(organizationId: string, keyId: string): Promise<void> {
    const key = await store.find(organizationId, keyId);
    if (key === undefined) throw new KeyProviderFault('Refused', `there is no key ${keyId}`);
    await load(key);
  }

  async function loadActive(organizationId: string): Promise<void> {
    const standing = await store.findActive(organizationId, 'Data');
    if (standing !== undefined) return load(standing);
    const place = { organizationId, keyId: ids.uuid(), purpose: 'Data' } as const;
    await store.add(await newKey(deps, place));
    // The new key is read and unwrapped before its first use, to prove that it can decrypt.
    const made = await store.findActive(organizationId, 'Data');
    if (made === undefined) throw new Error('a new key of the vault has vanished');
    if (made.keyId === place.keyId) log.info(facts(made), 'a key of the vault was made');
    return load(made);
  }

  function refresh(organizationId: string, name: string, work: () => Promise<void>): void {
    if (loading.has(name)) return;
    once(name, work).catch((error: unknown) => {
      log.warn({ err: error, organizationId }, 'a key of the vault could not be fetched again');
    });
  }

  function atHand(organizationId: string, keyId: string): DataKey | undefined {
    const key = held.get(keyId);
    if (key === undefined || key.organizationId !== organizationId) return undefined;
    const age = ageOf(key);
    if (age >= heldMs) return undefined;
    if (age >= refreshAfterMs) {
      const isActive = activeIds.get(organizationId) === keyId;
      if (isActive) refresh(organizationId, organizationId, () => loadActive(organizationId));
      else refresh(organizationId, keyId, () => loadById(organizationId, keyId));
    }
    return key;
  }

  function activeAtHand(organizationId: string): DataKey | undefined {
    const keyId = activeIds.get(organizationId);
    return keyId === undefined ? undefined : atHand(organizationId, keyId);
  }

  /** `work` must be synchronous, because the key can be zeroed during a wait. */
  function using<Result>(
    look: () => DataKey | undefined,
    fetchKey: () => Promise<void>,
    work: (key: DataKey) => Result,
  ): Result | Promise<Result> {
    const key = look();
    return key === undefined ? fetched(look, fetchKey, work) : work(key);
  }

  async function fetched<Result>(
    look: () => DataKey | undefined,
    fetchKey: () => Promise<void>,
    work: (key: DataKey) => Result,
  ): Promise<Result> {
    for (let turn = 0; turn < fetchTurns; turn += 1) {
      await fetchKey();
      const key = look();
      if (key !== undefined) return work(key);
    }
    throw new KeyProviderFault('Unavailable', 'the key was pushed out by others');
  }

  return {
    /** Uses the key that encrypts new cards; the first card of an organisation creates it. */
    withActive: <Result>(organizationId: string, work: (key: DataKey) => Result) =>
      using(
        () => activeAtHand(organizationId),
        () => once(organizationId, () => loadActive(organizationId)),
        work,
      ),
    with: <Result>(organizationId: string, keyId: string, work: (key: DataKey) => Result) =>
      using(
        () => atHand(organizationId, keyId),
        () => once(keyId, () => loadById(organizationId, keyId)),
        work,
      ),
    /** The next use reads the active key from the database. */
    forgetActive(organizationId: string): void {
      activeIds.delete(organizationId);
    },
    /** The number of clear keys in memory. */
    size: () => held.size,
    zeroOld,
    close(): void {
      clearInterval(looking);
      for (const keyId of [...held.keys()]) drop(keyId);
    },
  };
}

function facts({ organizationId, keyId, purpose, state, wrappedBy }: StoredKey) {
  return { organizationId, keyId, purpose, state, wrappedBy };
}
