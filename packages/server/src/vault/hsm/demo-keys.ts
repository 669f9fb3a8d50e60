// Derives the demo keys of devices, zones and the acquirer's host from one master key.
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { deriveKey } from '../../platform/index.ts';
import type { DukptScheme, KeyAlgorithm, KeyUsage } from './hsm-types.ts';
import type { KeyEntry } from './key-table.ts';
import {
  createEncryptedEntry,
  readOrCreateSoftwareMasterKey,
  softwareHsmDirectory,
  softwareMasterKeyFile,
  writeFileAtomically,
} from './software-key-storage.ts';

type DemoKey = {
  readonly usage: KeyUsage;
  readonly algorithm: KeyAlgorithm;
  readonly devices?: readonly string[];
};

/** `SY` and `SYAE` in ASCII: no device outside the demo has such a serial number. */
const serialNumberPrefixes = { DukptTdes: 'FFFF5359', DukptAes: '53594145' } as const;

const demoKeyTable = {
  'demo-bdk-tdes': {
    usage: 'BaseDerivation',
    algorithm: 'Tdes',
    devices: [serialNumberPrefixes.DukptTdes],
  },
  'demo-bdk-aes': {
    usage: 'BaseDerivation',
    algorithm: 'Aes',
    devices: [serialNumberPrefixes.DukptAes],
  },
  'demo-zmk': { usage: 'KeyEncryption', algorithm: 'Tdes' },
  'demo-zmk-aes': { usage: 'KeyEncryption', algorithm: 'Aes' },
  'demo-tpk': { usage: 'TerminalPin', algorithm: 'Tdes' },
  'demo-zpk': { usage: 'ZonePin', algorithm: 'Tdes' },
  'demo-zpk-aes': { usage: 'ZonePin', algorithm: 'Aes' },
  'demo-mac': { usage: 'Mac', algorithm: 'Tdes' },
  'demo-mac-aes': { usage: 'Mac', algorithm: 'Aes' },
} as const satisfies Readonly<Record<string, DemoKey>>;

export type DemoKeyName = keyof typeof demoKeyTable;

const keyBytes = 16;

/** DES uses seven bits of each byte; the eighth gives odd parity. */
function withOddParity(key: Buffer): Buffer {
  for (let at = 0; at < key.length; at += 1) {
    const seven = (key[at] ?? 0) & 0xfe;
    let setBits = 0;
    for (let rest = seven; rest !== 0; rest &= rest - 1) setBits += 1;
    key[at] = seven | ((setBits + 1) % 2);
  }
  return key;
}

function deriveDemoKey(master: Buffer, name: DemoKeyName): Buffer {
  const key = deriveKey(master, `hsm-${name}`).subarray(0, keyBytes);
  return demoKeyTable[name].algorithm === 'Tdes' ? withOddParity(key) : key;
}

const demoKeyNames = Object.keys(demoKeyTable) as DemoKeyName[];

export const demoKeyEntries = (master: Buffer): readonly KeyEntry[] =>
  demoKeyNames.map((name) =>
    createEncryptedEntry(master, deriveDemoKey(master, name), { name, ...demoKeyTable[name] }),
  );

export type DemoKeys = {
  /** Writes the keys of the acquirer's host to a private file, and returns its path. */
  hostKeysFile(): string;
  key(name: DemoKeyName): Buffer;
  /** The base key for a device with this serial number, and its first key serial number. */
  deviceKey(
    serialNumber: string,
    scheme: DukptScheme,
  ): { baseDerivationKey: string; ksn: string; keyId: DemoKeyName };
};

/** 24 bits of the hash identify the device; demo serial numbers are few, so they do not collide. */
function serialNumberDigits(serialNumber: string): string {
  return hash('sha256', serialNumber).slice(0, 6).toUpperCase();
}

/**
 * The clear demo keys, for the demo devices and the acquirer's host.
 *
 * @example const { baseDerivationKey, ksn } = demoKeys(dataDir).deviceKey('10000001', 'DukptTdes');
 */
export function demoKeys(dataDir: string): DemoKeys {
  const master = readOrCreateSoftwareMasterKey(softwareMasterKeyFile(dataDir));
  return {
    hostKeysFile() {
      const file = join(softwareHsmDirectory(dataDir), 'acquirer-host.json');
      const hexOf = (name: DemoKeyName) => `tdes:${deriveDemoKey(master, name).toString('hex')}`;
      const keys = { 'zone-pin-key': hexOf('demo-zpk'), 'zone-master-key': hexOf('demo-zmk') };
      writeFileAtomically(file, `${JSON.stringify(keys)}\n`);
      return file;
    },
    key: (name) => deriveDemoKey(master, name),
    deviceKey(serialNumber, scheme) {
      const keyId = scheme === 'DukptTdes' ? 'demo-bdk-tdes' : 'demo-bdk-aes';
      const prefix = serialNumberPrefixes[scheme] + serialNumberDigits(serialNumber);
      return {
        baseDerivationKey: deriveDemoKey(master, keyId).toString('hex').toUpperCase(),
        ksn: prefix + (scheme === 'DukptTdes' ? '000001' : '0000000001'),
        keyId,
      };
    },
  };
}
