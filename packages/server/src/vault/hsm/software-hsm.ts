// Implements the HSM in software for demo and test; clear keys and PINs are in this process.
import { timingSafeEqual } from 'node:crypto';
import {
  aesCmac,
  createDukptKeys,
  type DukptKeys,
  decryptDukptData,
  type Format4Pan,
  keyCheckValue,
  PinError,
  type PinErrorCode,
  type PinKey,
  retailMac,
  translatePin,
  unwrapKey,
} from '@switchyard/pin';
import { LRUCache } from 'lru-cache';
import { lruCacheOptions } from '../../platform/index.ts';
import {
  HsmError,
  type HsmErrorCode,
  type KeyAlgorithm,
  type KeyFacts,
  type KeyUsage,
  type MacAlgorithm,
  type StartableHsm,
} from './hsm-types.ts';
import { type KeyEntry, type KeyTable, KeyTableError, mayUseKey } from './key-table.ts';
import {
  createEncryptedReference,
  decryptEntry,
  decryptReference,
  findDerivationFault,
  getDukptScheme,
  getPinWorkingAlgorithm,
  requireStrongKey,
} from './software-key-storage.ts';
import {
  findDecryptionKey,
  parseHex,
  requireCheckValue,
  requireKey,
  requireValidData,
  requireValidTranslation,
  toPinBlockFormat,
} from './validate-hsm-request.ts';

export type SoftwareHsmDeps = {
  readonly table: KeyTable;
  /** The key that encrypts the keys of the table. */
  readonly masterKey: Buffer;
  readonly format4Pan?: Format4Pan;
};

/** The maximum number of cached zone keys of links; others are decrypted again. */
const cachedReferencesMax = 1000;

const codesByPinError: Readonly<Record<PinErrorCode, HsmErrorCode>> = {
  key_invalid: 'KeyUsage',
  ksn_invalid: 'KsnInvalid',
  pan_invalid: 'PanMismatch',
  pin_invalid: 'PinBlockInvalid',
  pin_block_invalid: 'PinBlockInvalid',
  data_invalid: 'DataInvalid',
  format_not_allowed: 'FormatNotAllowed',
};

/** Converts errors of the PIN library to HSM errors. */
async function translatePinErrors<Result>(work: () => Result): Promise<Result> {
  try {
    return work();
  } catch (error) {
    if (error instanceof PinError) throw new HsmError(codesByPinError[error.code]);
    throw error;
  }
}

const keyAlgorithmOfMac = { AesCmac: 'Aes', Iso9797Alg3: 'Tdes' } as const;
const macs = { AesCmac: aesCmac, Iso9797Alg3: retailMac } as const satisfies Readonly<
  Record<MacAlgorithm, unknown>
>;

/** A failure means that the sender's key or bytes are wrong, and not a key of the platform. */
function unwrapReceivedKey(wrapping: Buffer, bytes: Buffer, algorithm: KeyAlgorithm): Buffer {
  try {
    return unwrapKey(wrapping, bytes, algorithm);
  } catch (error) {
    if (error instanceof PinError) throw new HsmError('DataInvalid', 'the key does not unwrap');
    throw error;
  }
}

type ClearKey = Omit<KeyFacts, 'checkValue'> & { readonly key: Buffer };

/** Compares in constant time as a habit, although a check value is no secret. */
const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

function decryptTable(table: KeyTable, masterKey: Buffer): ReadonlyMap<string, ClearKey> {
  return new Map(
    table.entries.map((entry: KeyEntry) => {
      const { usage, algorithm, name } = entry;
      let key: Buffer;
      try {
        key = decryptEntry(masterKey, entry);
      } catch (error) {
        throw new KeyTableError(`the key ${name} does not decrypt under this master key`, {
          cause: error,
        });
      }
      if (!isSame(keyCheckValue(key, algorithm), entry.checkValue)) {
        throw new KeyTableError(`the key ${name} has another check value than its entry`);
      }
      const fault = findDerivationFault(key, entry);
      if (fault !== undefined) throw new KeyTableError(`the key ${name} ${fault}`);
      return [name, { usage, algorithm, key }];
    }),
  );
}

/**
 * @throws KeyTableError if a key does not decrypt, or its check value differs from its entry
 * @example const hsm = createSoftwareHsm({ table, masterKey });
 */
export function createSoftwareHsm(deps: SoftwareHsmDeps): StartableHsm {
  const { table, masterKey, format4Pan = 'Full' } = deps;
  const keysByName = decryptTable(table, masterKey);
  const referencedKeys = new LRUCache<string, ClearKey>({
    ...lruCacheOptions(cachedReferencesMax),
    dispose: ({ key }) => void key.fill(0),
  });

  function findKey(ref: string): ClearKey {
    const cached = keysByName.get(ref) ?? referencedKeys.get(ref);
    if (cached !== undefined) return cached;
    const resolvedKey = decryptReference(masterKey, ref);
    if (resolvedKey === undefined) throw new HsmError('KeyNotFound');
    referencedKeys.set(ref, resolvedKey);
    return resolvedKey;
  }

  function requireKeyUsage(ref: string, usage: KeyUsage): ClearKey {
    const resolvedKey = findKey(ref);
    if (resolvedKey.usage !== usage) throw new HsmError('KeyUsage');
    return resolvedKey;
  }

  const getClearKey = ({ name }: KeyEntry): Buffer => findKey(name).key;

  /**
   * Caches derived keys: device counters rise, so the next transaction reuses earlier derivations.
   */
  const dukptKeys = new Map<string, DukptKeys>();
  function getDukptKeys(entry: KeyEntry): DukptKeys {
    const cached = dukptKeys.get(entry.name);
    if (cached !== undefined) return cached;
    const algorithm = getPinWorkingAlgorithm(entry);
    const created = createDukptKeys(getClearKey(entry), getDukptScheme(entry), { algorithm });
    dukptKeys.set(entry.name, created);
    return created;
  }

  return {
    // The constructor has already compared the check values.
    start: async () => {},
    translatePin: (request) =>
      translatePinErrors(() => {
        const { entry, ksn } = findDecryptionKey(table, request);
        const zone = requireKeyUsage(request.outKeyRef, 'ZonePin');
        const block = requireValidTranslation(request, entry, zone);
        const { inFormat, outFormat, pan } = request;
        const inKey: PinKey =
          ksn === undefined
            ? { scheme: 'Zone', key: getClearKey(entry) }
            : { scheme: 'Dukpt', keys: getDukptKeys(entry), ksn };
        const to = { format: toPinBlockFormat(outFormat), key: zone.key };
        const format = toPinBlockFormat(inFormat);
        const encrypted = translatePin({ block, format, under: inKey, pan, to, format4Pan });
        return { pinBlock: encrypted.toString('hex').toUpperCase(), outFormat };
      }),
    decryptData: (request) =>
      translatePinErrors(() => {
        const { entry, ksn = '' } = findDecryptionKey(table, request);
        const data = requireValidData(request, entry);
        const algorithm = getPinWorkingAlgorithm(entry);
        return decryptDukptData({ baseKey: getClearKey(entry), ksn, algorithm, data });
      }),
    mac: ({ keyRef, algorithm, data }) =>
      translatePinErrors(() => {
        const macKey = requireKeyUsage(keyRef, 'Mac');
        if (macKey.algorithm !== keyAlgorithmOfMac[algorithm]) throw new HsmError('KeyUsage');
        return macs[algorithm](macKey.key, data);
      }),
    importKey: ({ wrappingKeyRef, wrapped, checkValue, usage, algorithm }) =>
      translatePinErrors(() => {
        const wrappingKey = requireKey(table, wrappingKeyRef, 'KeyEncryption');
        const bytes = parseHex(wrapped, 'DataInvalid');
        const key = unwrapReceivedKey(getClearKey(wrappingKey), bytes, wrappingKey.algorithm);
        requireStrongKey(key, algorithm);
        const computed = keyCheckValue(key, algorithm);
        requireCheckValue(checkValue, computed);
        const keyRef = createEncryptedReference(masterKey, key, { usage, algorithm });
        key.fill(0);
        return { keyRef, checkValue: computed };
      }),
    checkKey: (keyRef) =>
      translatePinErrors(() => {
        const { key, usage, algorithm } = findKey(keyRef);
        return { checkValue: keyCheckValue(key, algorithm), usage, algorithm };
      }),
    mayUse: (keyRef, usage, organizationId) => mayUseKey(table, keyRef, usage, organizationId),
    health: async () => 'up',
    async close() {
      referencedKeys.clear();
      for (const keys of dukptKeys.values()) keys.forget();
      for (const { key } of keysByName.values()) key.fill(0);
    },
  };
}
