// Opens the key provider, loads the index key and prepares the data keys of organisations.
import { createSecretKey, type KeyObject } from 'node:crypto';
import { throwProblem } from '@switchyard/contract';
import { type Clock, deriveKey, type Ids, type Log, SettingsError } from '../platform/index.ts';
import {
  createDataKeys,
  createWrappedKey,
  type DataKeys,
  type UnwrapCounter,
  unwrapKey,
} from './data-keys.ts';
import { type KeyProvider, KeyProviderError } from './key-providers/open-key-provider.ts';
import { platformOwnerId, type VaultKeyStore } from './vault-key-sql.ts';

const unavailableRetryMs = 5_000;

export type OpenedVault = {
  readonly provider: KeyProvider;
  /** The key of the keyed hashes. It never changes, because other records store the hashes. */
  readonly indexKey: KeyObject;
  readonly dataKeys: DataKeys;
  /** Decrypts cards from the time before organisations had keys. */
  readonly legacyKey: Buffer | undefined;
};

export type OpenVaultDeps = {
  store: VaultKeyStore;
  openProvider: () => Promise<KeyProvider>;
  /** The master key of an older version that had one key for everything. */
  legacyMasterKey: Buffer | undefined;
  clock: Clock;
  ids: Ids;
  log: Log;
  unwraps: UnwrapCounter;
};

/**
 * An older platform keeps its key, so that its hashes stay valid; a new one creates a random key.
 */
async function createIndexKey(deps: OpenVaultDeps, provider: KeyProvider): Promise<void> {
  const { store, legacyMasterKey, ids, clock } = deps;
  if (legacyMasterKey === undefined && (await store.hasLegacyCards())) {
    throw new SettingsError([
      'this database contains cards under the key of an older version: set SWITCHYARD_VAULT_KEY_PREVIOUS to that key',
    ]);
  }
  const identity = {
    organizationId: platformOwnerId,
    keyId: ids.uuid(),
    purpose: 'Index',
  } as const;
  const bytes =
    legacyMasterKey === undefined ? undefined : deriveKey(legacyMasterKey, 'vault-fingerprint');
  await store.add(await createWrappedKey({ provider, clock }, identity, bytes));
}

async function loadIndexKey(deps: OpenVaultDeps, provider: KeyProvider): Promise<KeyObject> {
  const { store, unwraps } = deps;
  if ((await store.findActive(platformOwnerId, 'Index')) === undefined) {
    await createIndexKey(deps, provider);
  }
  const key = await store.findActive(platformOwnerId, 'Index');
  if (key === undefined) throw new Error('the key of the card index no longer exists');
  if (!provider.canUnwrap(key.wrappedBy)) {
    throw new SettingsError([
      `SWITCHYARD_VAULT_KEY, or the key of SWITCHYARD_VAULT_KEY_PROVIDER, is not the key of this database: the vault of this database uses the key ${key.wrappedBy}, but this process has ${provider.wrappingKeyName}. Set the old key; to replace it, set SWITCHYARD_VAULT_KEY_PREVIOUS to it`,
    ]);
  }
  const bytes = await unwrapKey({ provider, unwraps }, key);
  // A key object, because creating it from bytes for each hash takes six times longer than the
  // hash.
  const indexKey = createSecretKey(bytes);
  bytes.fill(0);
  return indexKey;
}

/** @throws Error if the configured keys do not match this database */
export async function openVault(deps: OpenVaultDeps): Promise<OpenedVault> {
  const { legacyMasterKey } = deps;
  const provider = await deps.openProvider();
  try {
    const indexKey = await loadIndexKey(deps, provider);
    return {
      provider,
      indexKey,
      dataKeys: createDataKeys({ ...deps, provider }),
      legacyKey:
        legacyMasterKey === undefined ? undefined : deriveKey(legacyMasterKey, 'vault-data'),
    };
  } catch (error) {
    await provider.close();
    throw error;
  }
}

/**
 * The client gets the same error for every key fault, because the server did nothing in each case.
 */
export async function translateKeyFault<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof KeyProviderError)) throw error;
    return throwProblem(
      'card_keys_unavailable',
      'The keys of stored cards are not available now; retry later.',
      {
        retryAfterMs: unavailableRetryMs,
        logDetail: error.message,
      },
    );
  }
}
