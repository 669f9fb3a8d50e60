/** A cache of derived keys for devices that send transactions repeatedly. */
import {
  aesInitialKey,
  aesKeyVariant,
  aesStep,
  type WorkingAlgorithm,
  workingAlgorithmOf,
} from './aes-dukpt.ts';
import { PinError } from './errors.ts';
import type { KeySerialNumber } from './ksn.ts';
import { tdesInitialKey, tdesStep, tdesVaried } from './tdes-dukpt.ts';

/**
 * The keys of the devices under one base key. A device counts up, so the key of its next transaction
 * shares nearly all of its derivation with the last one: it is kept, for so many devices, in a host
 * that holds the base key anyway.
 *
 * @example
 * const keys: DukptKeys = createDukptKeys(baseKey);
 */
export type DukptKeys = {
  /** Of the working keys. */
  readonly algorithm: WorkingAlgorithm;
  /**
   * The key of a transaction for PINs, or for data on the way from the terminal; for the caller to
   * overwrite.
   *
   * @throws PinError `ksn_invalid`: of the other scheme
   */
  workingKey(ksn: KeySerialNumber, purpose: 'pin' | 'data'): Buffer;
  /** Overwrites everything, the base key too. */
  forget(): void;
};

/** A key on the way to that of a transaction: of the highest counter bits alone. */
type Station = { readonly counted: number; readonly key: Buffer };
type Path = Station[];

const schemes = {
  DukptTdes: {
    initial: tdesInitialKey,
    step: tdesStep,
    working: (key: Uint8Array, _ksn: KeySerialNumber, purpose: 'pin' | 'data') =>
      tdesVaried(key, purpose === 'pin' ? 'pin' : 'dataRequest'),
  },
  DukptAes: {
    initial: aesInitialKey,
    step: aesStep,
    working: (
      key: Uint8Array,
      ksn: KeySerialNumber,
      purpose: 'pin' | 'data',
      algorithm: WorkingAlgorithm,
    ) => aesKeyVariant(key, ksn, purpose === 'pin' ? 'pin' : 'dataEncrypt', algorithm),
  },
} as const;

const standardDevices = 10_000;

/** Whether the bits of a station are the highest bits of a counter, with no other between them. */
function isOnTheWay({ counted }: Station, counter: number): boolean {
  if (counted === 0) return true;
  const lowest = (counted & -counted) >>> 0;
  return (counter & ~(lowest - 1)) >>> 0 === counted;
}

const overwrite = (path: Path): void => {
  for (const { key } of path) key.fill(0);
};

/**
 * Keeps what it derives for the devices that came last.
 *
 * @param baseKey - the base derivation key: 16 bytes for TDES; 16, 24 or 32 for AES; it is copied
 * @param scheme - of its devices
 * @param options - `algorithm` of the working keys, the strongest that the base key may derive where it
 *   is left out; `devicesMost`: the keys of so many devices are kept
 * @throws PinError `key_invalid` where the working keys would be stronger than the base key
 * @example
 * const keys = createDukptKeys(baseKey, 'DukptTdes');
 * const pinKey = keys.workingKey(readKsn('FFFF9876543210E00001'), 'pin');
 */
export function createDukptKeys(
  baseKey: Uint8Array,
  scheme: KeySerialNumber['scheme'],
  options: { readonly algorithm?: WorkingAlgorithm; readonly devicesMost?: number } = {},
): DukptKeys {
  const { devicesMost = standardDevices } = options;
  const algorithm = workingAlgorithmOf(baseKey, scheme, options.algorithm);
  const base = Buffer.from(baseKey);
  const { initial, step, working } = schemes[scheme];
  /** In the order in which the devices came. */
  const paths = new Map<string, Path>();

  function pathOf(ksn: KeySerialNumber): Path {
    const cached = paths.get(ksn.device);
    if (cached !== undefined) {
      paths.delete(ksn.device);
      paths.set(ksn.device, cached);
      return cached;
    }
    const path: Path = [{ counted: 0, key: initial(base, ksn) }];
    paths.set(ksn.device, path);
    if (paths.size > devicesMost) {
      for (const [oldest, left] of paths) {
        overwrite(left);
        paths.delete(oldest);
        break;
      }
    }
    return path;
  }

  return {
    algorithm,
    workingKey(ksn, purpose) {
      if (ksn.scheme !== scheme) throw new PinError('ksn_invalid');
      const path = pathOf(ksn);
      let last = path.at(-1);
      while (last !== undefined && !isOnTheWay(last, ksn.counter)) {
        path.pop();
        last.key.fill(0);
        last = path.at(-1);
      }
      if (last === undefined) throw new PinError('key_invalid');
      let { counted, key } = last;
      // From the highest bit that is not derived yet to the lowest.
      for (let rest = (ksn.counter & ~counted) >>> 0; rest !== 0; ) {
        const bit = (0x8000_0000 >>> Math.clz32(rest)) >>> 0;
        counted = (counted | bit) >>> 0;
        key = step(key, ksn, counted);
        path.push({ counted, key });
        rest = (rest & ~bit) >>> 0;
      }
      return working(key, ksn, purpose, algorithm);
    },
    forget() {
      for (const path of paths.values()) overwrite(path);
      paths.clear();
      base.fill(0);
    },
  };
}
