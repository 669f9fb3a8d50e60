// The keys that the host shares with the other side, and how it gives it new ones.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import type { MacPlace } from '@switchyard/iso8583';
import { aesCmac, keyCheckValue, retailMac, wrapKey } from '@switchyard/pin';

/**
 * A key, and what cipher it is for.
 *
 * @example
 * const key: HostKey = { algorithm: 'Tdes', key: Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex') };
 */
export type HostKey = { algorithm: 'Tdes' | 'Aes'; key: Buffer };

/** The keys that a host starts with; each may be missing. */
export type HostKeys = {
  /** Of PIN blocks. */
  zonePin?: HostKey;
  /** Of message authentication. */
  mac?: HostKey;
  /** New keys go out under this one. */
  zoneMaster?: HostKey;
};

/** `P` of PIN blocks, `M` of message authentication. */
export type KeyUse = 'P' | 'M';

/** A new key on its way to the other side. */
export type KeyOffer = {
  /** DE48 that brings it, canonical. */
  text: string;
  /** The other side has taken it: it is the present one. */
  accept(): void;
};

export type KeyRing = {
  /** The keys of a use that are good now, the present one first. */
  keysFor(use: KeyUse): readonly Buffer[];
  /** Undefined where there is no zone master key. */
  offer(use: KeyUse): KeyOffer | undefined;
};

/** The youngest first. */
type Keys = { [use in KeyUse]?: HostKey[] };

/** What a host remembers: the keys that the other side has taken, and those that it may have taken. */
type Stored = Keys & { offered: Keys };

const validKeysMax = 2;
/** Offers of a use that nobody has answered yet. */
const openOffersMax = 4;
const keyBytes = 16;
const keyIndex = '01';
const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;

type KeysInFile = { [use in KeyUse]?: { algorithm: 'Tdes' | 'Aes'; key: string }[] };

function keysOf(written: KeysInFile = {}): Keys {
  const keys: Keys = {};
  for (const use of ['P', 'M'] as const) {
    const keysOfUse = written[use]?.map(({ algorithm, key }) => ({
      algorithm,
      key: Buffer.from(key, 'hex'),
    }));
    if (keysOfUse !== undefined) keys[use] = keysOfUse;
  }
  return keys;
}

function readStoredKeys(path: string): Stored {
  if (!existsSync(path)) return { offered: {} };
  const written = JSON.parse(readFileSync(path, 'utf8')) as KeysInFile & { offered?: KeysInFile };
  return { ...keysOf(written), offered: keysOf(written.offered) };
}

/**
 * Opens the ring of a host. Keys that were given away outlive the process, beside the ledger; so do those that the
 * other side has not answered yet, since it may use them already.
 *
 * @param options `directory` of the ledger; `keys` to start with; `mac` as the table has it
 */
export function openKeyRing(options: {
  directory: string;
  keys: HostKeys;
  mac: MacPlace | undefined;
}): KeyRing {
  const { directory, keys, mac } = options;
  const path = join(directory, 'keys.json');
  const stored = readStoredKeys(path);
  const configured: Keys = defined({
    P: keys.zonePin === undefined ? undefined : [keys.zonePin],
    M: keys.mac === undefined ? undefined : [keys.mac],
  });

  const offered = (use: KeyUse) => stored.offered[use] ?? [];

  function all(use: KeyUse): HostKey[] {
    const present = [...(stored[use] ?? []), ...(configured[use] ?? [])].slice(0, validKeysMax);
    // The other side may use the new key before it has told us so.
    return [...present, ...offered(use)];
  }

  function save(): void {
    const text = JSON.stringify(stored, (_name, value: unknown) =>
      value instanceof Object && 'type' in value && value.type === 'Buffer' && 'data' in value
        ? Buffer.from(value.data as number[]).toString('hex')
        : value,
    );
    mkdirSync(directory, { recursive: true, mode: OWNER_ONLY_DIRECTORY });
    // Whole or not at all, however the process ends.
    writeFileSync(`${path}.new`, text, { mode: OWNER_ONLY });
    renameSync(`${path}.new`, path);
  }

  /** Offers before this one are answered as well: the other side goes by the last that it took. */
  function acceptKey(use: KeyUse, key: HostKey): void {
    const at = offered(use).indexOf(key);
    if (at < 0) return;
    stored[use] = [key, ...(stored[use] ?? [])].slice(0, validKeysMax);
    stored.offered[use] = offered(use).slice(0, at);
    save();
  }

  return {
    keysFor: (use) => all(use).map(({ key }) => key),
    offer(use) {
      const { zoneMaster } = keys;
      if (zoneMaster === undefined) return undefined;
      const algorithm = use === 'M' && mac?.algorithm === 'AesCmac' ? 'Aes' : 'Tdes';
      const newKey: HostKey = { algorithm, key: randomBytes(keyBytes) };
      stored.offered[use] = [newKey, ...offered(use)].slice(0, openOffersMax);
      save();
      const check = keyCheckValue(newKey.key, algorithm);
      const wrapped = wrapKey(zoneMaster.key, newKey.key, zoneMaster.algorithm).toString('hex');
      const text = `${use}${algorithm.slice(0, 1)}${keyIndex}${check}${wrapped.toUpperCase()}`;
      return { text, accept: () => acceptKey(use, newKey) };
    },
  };
}

/** The first eight bytes of a message authentication code. */
export function computeMac(algorithm: MacPlace['algorithm'], key: Buffer, data: Buffer): Buffer {
  const code = algorithm === 'AesCmac' ? aesCmac(key, data) : retailMac(key, data);
  return code.subarray(0, 8);
}
