// Opens the key provider, loads the index key and prepares the data keys of organisations.
import { createSecretKey, type KeyObject } from 'node:crypto';
import { throwProblem } from '@switchyard/contract';
import { type Clock, deriveKey, type Ids, type Log, type Metrics } from '../platform/index.ts';
import { createDataKeys, type DataKeys, newKey, unwrapped } from './data-keys.ts';
import { type KeyProvider, KeyProviderFault } from './key-providers/open-key-provider.ts';
import { type KeyStore, platformId } from './vault-key-sql.ts';

const unavailableRetryMs = 5_000;

export type OpenVault = {
  readonly provider: KeyProvider;
  /** The key of the keyed hashes. It never changes, because other records store the hashes. */
  readonly indexKey: KeyObject;
  readonly dataKeys: DataKeys;
  /** Decrypts cards from the time before organisations had keys. */
  readonly legacyKey: Buffer | undefined;
};

export type OpeningDeps = {
  store: KeyStore;
  openProvider: () => Promise<KeyProvider>;
  /** The master key of an older version that had one key for everything. */
  legacyMaster: Buffer | undefined;
  clock: Clock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
};

/**
 * An older platform keeps its key, so that its hashes stay valid; a new one creates a random key.
 */
async function makeIndexKey(deps: OpeningDeps, provider: KeyProvider): Promise<void> {
  const { store, legacyMaster, ids, clock } = deps;
  if (legacyMaster === undefined && (await store.hasUnkeyedCards())) {
    throw new Error(
      'this database holds cards under the key of an older version: SWITCHYARD_VAULT_KEY_PREVIOUS must be that key',
    );
  }
  const place = { organizationId: platformId, keyId: ids.uuid(), purpose: 'Index' } as const;
  const bytes =
    legacyMaster === undefined ? undefined : deriveKey(legacyMaster, 'vault-fingerprint');
  await store.add(await newKey({ provider, clock }, place, bytes));
}

async function loadIndexKey(deps: OpeningDeps, provider: KeyProvider): Promise<KeyObject> {
  const { store } = deps;
  if ((await store.findActive(platformId, 'Index')) === undefined) {
    await makeIndexKey(deps, provider);
  }
  const key = await store.findActive(platformId, 'Index');
  if (key === undefined) throw new Error('the key of the card index has vanished');
  if (!provider.knows(key.wrappedBy)) {
    throw new Error(
      `the vault of this database is under the key ${key.wrappedBy}, and this process has ${provider.wrapsWith}`,
    );
  }
  const bytes = await unwrapped(provider, key);
  // A key object, because creating it from bytes for each hash takes six times longer than the
  // hash.
  const indexKey = createSecretKey(bytes);
  bytes.fill(0);
  return indexKey;
}

/** @throws Error if the configured keys do not match this database */
export async function openVault(deps: OpeningDeps): Promise<OpenVault> {
  const { legacyMaster } = deps;
  const provider = await deps.openProvider();
  try {
    const indexKey = await loadIndexKey(deps, provider);
    return {
      provider,
      indexKey,
      dataKeys: createDataKeys({ ...deps, provider }),
      legacyKey: legacyMaster === undefined ? undefined : deriveKey(legacyMaster, 'vault-data'),
    };
  } catch (error) {
    await provider.close();
    throw error;
  }
}

/**
 * The client gets the same error for every key fault, because the server did nothing in each case.
 */
export async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof KeyProviderFault)) throw error;
    return throwProblem(
      'card_keys_unavailable',
      'The keys of stored cards are not to be had just now.',
      {
        retryAfterMs: unavailableRetryMs,
        logDetail: error.message,
      },
    );
  }
}
