// The keys that the host shares with the other side, and how the host sends new ones.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import type { MacSettings } from '@switchyard/iso8583';
import { aesCmac, keyCheckValue, retailMac, wrapKey } from '@switchyard/pin';

/**
 * A key and its cipher.
 *
 * @example
 * const key: HostKey = { algorithm: 'Tdes', key: Buffer.from('0123456789ABCDEFFEDCBA9876543210', 'hex') };
 */
export type HostKey = { algorithm: 'Tdes' | 'Aes'; key: Buffer };

/** The keys that a host starts with; each may be missing. */
export type HostKeys = {
  /** Encrypts PIN blocks. */
  zonePin?: HostKey;
  /** Authenticates messages. */
  mac?: HostKey;
  /** Encrypts new keys. */
  zoneMaster?: HostKey;
};

/** `P`: PIN blocks, `M`: message authentication. */
export type KeyUse = 'P' | 'M';

/** A new key that is sent to the other side. */
export type KeyOffer = {
  /** DE48 with the key, in canonical form. */
  text: string;
  /** The other side accepted the key: it becomes the current key. */
  accept(): void;
};

export type KeyRing = {
  /** The valid keys of a use, the current key first. */
  keysFor(use: KeyUse): readonly Buffer[];
  /** Undefined where there is no zone master key. */
  offer(use: KeyUse): KeyOffer | undefined;
};

/** The newest key first. */
type Keys = { [use in KeyUse]?: HostKey[] };

/** The stored keys: those that the other side accepted, and those that it may have accepted. */
type Stored = Keys & { offered: Keys };

const validKeysMax = 2;
/** Limit of unanswered key offers for a use. */
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
 * Opens the key ring of a host. Sent keys are stored beside the ledger, also those that the other side has not
 * answered yet, because it may use them already.
 *
 * @param options `directory` of the ledger; `keys` to start with; `mac` as the table has it
 */
export function openKeyRing(options: {
  directory: string;
  keys: HostKeys;
  mac: MacSettings | undefined;
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
    // The other side may use the new key before the host receives its answer.
    return [...present, ...offered(use)];
  }

  function save(): void {
    const text = JSON.stringify(stored, (_name, value: unknown) =>
      value instanceof Object && 'type' in value && value.type === 'Buffer' && 'data' in value
        ? Buffer.from(value.data as number[]).toString('hex')
        : value,
    );
    mkdirSync(directory, { recursive: true, mode: OWNER_ONLY_DIRECTORY });
    // The rename is atomic, so the file is complete even if the process is killed.
    writeFileSync(`${path}.new`, text, { mode: OWNER_ONLY });
    renameSync(`${path}.new`, path);
  }

  /** Older offers end as well: the other side uses the last key that it accepted. */
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
export function computeMac(algorithm: MacSettings['algorithm'], key: Buffer, data: Buffer): Buffer {
  const code = algorithm === 'AesCmac' ? aesCmac(key, data) : retailMac(key, data);
  return code.subarray(0, 8);
}
