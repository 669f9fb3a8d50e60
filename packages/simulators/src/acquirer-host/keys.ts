// The keys that the host shares with the other side, and how it gives it new ones.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

export type KeyRing = {
  /** The keys of a use that are good now, the present one first. */
  of(use: KeyUse): readonly Buffer[];
  /** DE48 with a new key, canonical; undefined where there is no zone master key. */
  offer(use: KeyUse): string | undefined;
  /** The other side has taken the offered key. */
  taken(use: KeyUse): void;
};

type Stored = { [use in KeyUse]?: HostKey[] };

const goodKeys = 2;
const keyBytes = 16;
const keyIndex = '01';
const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;

function read(path: string): Stored {
  if (!existsSync(path)) return {};
  const stored = JSON.parse(readFileSync(path, 'utf8')) as {
    [use in KeyUse]?: { algorithm: 'Tdes' | 'Aes'; key: string }[];
  };
  const keys: Stored = {};
  for (const use of ['P', 'M'] as const) {
    const found = stored[use]?.map(({ algorithm, key }) => ({
      algorithm,
      key: Buffer.from(key, 'hex'),
    }));
    if (found !== undefined) keys[use] = found;
  }
  return keys;
}

/**
 * Opens the ring of a host. Keys that were given away outlive the process, beside the ledger.
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
  const given = read(path);
  const started: Stored = {
    ...(keys.zonePin === undefined ? {} : { P: [keys.zonePin] }),
    ...(keys.mac === undefined ? {} : { M: [keys.mac] }),
  };
  const offered = new Map<KeyUse, HostKey>();

  function all(use: KeyUse): HostKey[] {
    const waiting = offered.get(use);
    const present = [...(given[use] ?? []), ...(started[use] ?? [])].slice(0, goodKeys);
    // The other side may use the new key before it has told us so.
    return waiting === undefined ? present : [...present, waiting];
  }

  function save(): void {
    const text = JSON.stringify(given, (_name, value: unknown) =>
      value instanceof Object && 'type' in value && value.type === 'Buffer' && 'data' in value
        ? Buffer.from(value.data as number[]).toString('hex')
        : value,
    );
    mkdirSync(directory, { recursive: true, mode: OWNER_ONLY_DIRECTORY });
    writeFileSync(path, text, { mode: OWNER_ONLY });
  }

  return {
    of: (use) => all(use).map(({ key }) => key),
    offer(use) {
      const { zoneMaster } = keys;
      if (zoneMaster === undefined) return undefined;
      const algorithm = use === 'M' && mac?.algorithm === 'AesCmac' ? 'Aes' : 'Tdes';
      const key = randomBytes(keyBytes);
      offered.set(use, { algorithm, key });
      const wrapped = wrapKey(zoneMaster.key, key, zoneMaster.algorithm).toString('hex');
      const check = keyCheckValue(key, algorithm);
      return `${use}${algorithm.slice(0, 1)}${keyIndex}${check}${wrapped.toUpperCase()}`;
    },
    taken(use) {
      const key = offered.get(use);
      if (key === undefined) return;
      offered.delete(use);
      given[use] = [key, ...(given[use] ?? [])].slice(0, goodKeys);
      save();
    },
  };
}

/** The first eight bytes of a message authentication code. */
export function macOf(algorithm: MacPlace['algorithm'], key: Buffer, data: Buffer): Buffer {
  const code = algorithm === 'AesCmac' ? aesCmac(key, data) : retailMac(key, data);
  return code.subarray(0, 8);
}
