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
  type OpenableHsm,
} from './hsm-types.ts';
import { type KeyEntry, type KeyTable, KeyTableFault, mayUseKey } from './key-table.ts';
import {
  demandStrongKey,
  derivationFault,
  keyOfEntry,
  openRef,
  schemeOf,
  sealedRef,
  workingAlgorithmUnder,
} from './software-key-storage.ts';
import {
  blockFormatOf,
  demandCheckValue,
  demandData,
  demandHex,
  demandKey,
  demandTranslation,
  openingKeyOf,
} from './validate-hsm-request.ts';

export type SoftwareHsmDeps = {
  readonly table: KeyTable;
  /** The key that encrypts the keys of the table. */
  readonly masterKey: Buffer;
  readonly format4Pan?: Format4Pan;
};

/** The maximum number of cached zone keys of links; others are decrypted again. */
const openedRefsMax = 1000;

const codes: Readonly<Record<PinErrorCode, HsmErrorCode>> = {
  key_invalid: 'KeyUsage',
  ksn_invalid: 'KsnInvalid',
  pan_invalid: 'PanMismatch',
  pin_invalid: 'PinBlockInvalid',
  pin_block_invalid: 'PinBlockInvalid',
  data_invalid: 'DataInvalid',
  format_not_allowed: 'FormatNotAllowed',
};

/** Converts errors of the PIN library to HSM errors. */
async function inWordsOfThePort<Result>(work: () => Result): Promise<Result> {
  try {
    return work();
  } catch (error) {
    if (error instanceof PinError) throw new HsmError(codes[error.code]);
    throw error;
  }
}

const macAlgorithmOf = { AesCmac: 'Aes', Iso9797Alg3: 'Tdes' } as const;
const macs = { AesCmac: aesCmac, Iso9797Alg3: retailMac } as const satisfies Readonly<
  Record<MacAlgorithm, unknown>
>;

/** A failure means that the sender's key or bytes are wrong, and not a key of the platform. */
function unwrapped(wrapping: Buffer, bytes: Buffer, algorithm: KeyAlgorithm): Buffer {
  try {
    return unwrapKey(wrapping, bytes, algorithm);
  } catch (error) {
    if (error instanceof PinError) throw new HsmError('DataInvalid', 'it does not unwrap');
    throw error;
  }
}

type HeldKey = Omit<KeyFacts, 'checkValue'> & { readonly key: Buffer };

/** Compares in constant time as a habit, although a check value is no secret. */
const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

function openTable(table: KeyTable, masterKey: Buffer): ReadonlyMap<string, HeldKey> {
  return new Map(
    table.entries.map((entry: KeyEntry) => {
      const { usage, algorithm, name } = entry;
      let key: Buffer;
      try {
        key = keyOfEntry(masterKey, entry);
      } catch (error) {
        throw new KeyTableFault(`the key ${name} is not ours: its seal is broken`, {
          cause: error,
        });
      }
      if (!isSame(keyCheckValue(key, algorithm), entry.checkValue)) {
        throw new KeyTableFault(`the key ${name} has another check value than its entry`);
      }
      const fault = derivationFault(key, entry);
      if (fault !== undefined) throw new KeyTableFault(`the key ${name} ${fault}`);
      return [name, { usage, algorithm, key }];
    }),
  );
}

/**
 * @throws KeyTableFault if a key does not decrypt, or its check value differs from its entry
 * @example const hsm = createSoftwareHsm({ table, masterKey });
 */
export function createSoftwareHsm(deps: SoftwareHsmDeps): OpenableHsm {
  const { table, masterKey, format4Pan = 'Full' } = deps;
  const held = openTable(table, masterKey);
  const opened = new LRUCache<string, HeldKey>({
    ...lruCacheOptions(openedRefsMax),
    dispose: ({ key }) => void key.fill(0),
  });

  function find(ref: string): HeldKey {
    const standing = held.get(ref) ?? opened.get(ref);
    if (standing !== undefined) return standing;
    const found = openRef(masterKey, ref);
    if (found === undefined) throw new HsmError('KeyNotFound');
    opened.set(ref, found);
    return found;
  }

  function demand(ref: string, usage: KeyUsage): HeldKey {
    const found = find(ref);
    if (found.usage !== usage) throw new HsmError('KeyUsage');
    return found;
  }

  const keyOf = ({ name }: KeyEntry): Buffer => find(name).key;

  /**
   * Caches derived keys: device counters rise, so the next transaction reuses earlier derivations.
   */
  const dukptKeys = new Map<string, DukptKeys>();
  function dukptKeysOf(entry: KeyEntry): DukptKeys {
    const known = dukptKeys.get(entry.name);
    if (known !== undefined) return known;
    const algorithm = workingAlgorithmUnder(entry);
    const made = createDukptKeys(keyOf(entry), schemeOf(entry), { algorithm });
    dukptKeys.set(entry.name, made);
    return made;
  }

  return {
    // The constructor has already compared the check values.
    start: async () => {},
    translatePin: (request) =>
      inWordsOfThePort(() => {
        const { entry, ksn } = openingKeyOf(table, request);
        const zone = demand(request.outKeyRef, 'ZonePin');
        const block = demandTranslation(request, entry, zone);
        const { inFormat, outFormat, pan } = request;
        const under: PinKey =
          ksn === undefined
            ? { scheme: 'Zone', key: keyOf(entry) }
            : { scheme: 'Dukpt', keys: dukptKeysOf(entry), ksn };
        const to = { format: blockFormatOf(outFormat), key: zone.key };
        const format = blockFormatOf(inFormat);
        const sealed = translatePin({ block, format, under, pan, to, format4Pan });
        return { pinBlock: sealed.toString('hex').toUpperCase(), outFormat };
      }),
    decryptData: (request) =>
      inWordsOfThePort(() => {
        const { entry, ksn = '' } = openingKeyOf(table, request);
        const data = demandData(request, entry);
        const algorithm = workingAlgorithmUnder(entry);
        return decryptDukptData({ baseKey: keyOf(entry), ksn, algorithm, data });
      }),
    mac: ({ keyRef, algorithm, data }) =>
      inWordsOfThePort(() => {
        const held = demand(keyRef, 'Mac');
        if (held.algorithm !== macAlgorithmOf[algorithm]) throw new HsmError('KeyUsage');
        return macs[algorithm](held.key, data);
      }),
    importKey: ({ wrappingKeyRef, wrapped, checkValue, usage, algorithm }) =>
      inWordsOfThePort(() => {
        const wrapping = demandKey(table, wrappingKeyRef, 'KeyEncryption');
        const bytes = demandHex(wrapped, 'DataInvalid');
        const key = unwrapped(keyOf(wrapping), bytes, wrapping.algorithm);
        demandStrongKey(key, algorithm);
        const own = keyCheckValue(key, algorithm);
        demandCheckValue(checkValue, own);
        const keyRef = sealedRef(masterKey, key, { usage, algorithm });
        key.fill(0);
        return { keyRef, checkValue: own };
      }),
    checkKey: (keyRef) =>
      inWordsOfThePort(() => {
        const { key, usage, algorithm } = find(keyRef);
        return { checkValue: keyCheckValue(key, algorithm), usage, algorithm };
      }),
    mayUse: (keyRef, usage, organizationId) => mayUseKey(table, keyRef, usage, organizationId),
    health: async () => 'up',
    async close() {
      opened.clear();
      for (const keys of dukptKeys.values()) keys.forget();
      for (const { key } of held.values()) key.fill(0);
    },
  };
}
