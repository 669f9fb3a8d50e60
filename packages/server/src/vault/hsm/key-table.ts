// Reads the key table of an HSM: names, purposes and check values, and no clear keys.
import { readFileSync } from 'node:fs';
import { isObject } from '@switchyard/contract';
import { type KeyAlgorithm, type KeyUsage, keyUsages } from './hsm-types.ts';

/** The algorithms of working keys by AWS name, from the weakest to the strongest. */
const workingKeyAlgorithms = ['TDES_2KEY', 'TDES_3KEY', 'AES_128', 'AES_192', 'AES_256'] as const;
export type WorkingKeyAlgorithm = (typeof workingKeyAlgorithms)[number];

export type KeyEntry = {
  /** The name of the key in settings, links and devices. */
  readonly name: string;
  readonly usage: KeyUsage;
  readonly algorithm: KeyAlgorithm;
  /** Six hexadecimal digits in upper case. */
  readonly checkValue: string;
  /** The HSM's reference: an ARN, a key under its local master key, or an encrypted key. */
  readonly reference: string;
  /**
   * For a base derivation key: the prefixes of its devices' serial numbers, without the counter.
   */
  readonly devices: readonly string[];
  /** For a base derivation key in a payShield: the structure of a key serial number. */
  readonly ksnDescriptor?: string;
  /** For a base derivation key: the algorithm of its devices' working keys. */
  readonly derivation?: WorkingKeyAlgorithm;
  /** The identifiers of organisations that may use the key; if missing, every organisation may. */
  readonly organizations?: readonly string[];
};

/** The default is two-key TDES or AES-128. */
export const getWorkingKeyAlgorithm = ({ derivation, algorithm }: KeyEntry): WorkingKeyAlgorithm =>
  derivation ?? (algorithm === 'Tdes' ? 'TDES_2KEY' : 'AES_128');

/** Whether a working key is stronger than its base key, which ANSI X9.24-3:2017 6.1 forbids. */
export const isStrongerThan = (working: WorkingKeyAlgorithm, base: WorkingKeyAlgorithm): boolean =>
  workingKeyAlgorithms.indexOf(working) > workingKeyAlgorithms.indexOf(base);

/** Whether an organisation may use a key; a restricted key requires an organisation. */
export const mayOrganizationUse = (
  { organizations }: Pick<KeyEntry, 'organizations'>,
  organizationId: string | undefined,
): boolean =>
  organizations === undefined ||
  (organizationId !== undefined && organizations.includes(organizationId));

export type KeyTable = {
  readonly entries: readonly KeyEntry[];
  findByName(name: string): KeyEntry | undefined;
  /** Finds keys by name, or by reference; several names can have one reference. */
  findByReference(ref: string): readonly KeyEntry[];
  /** The base derivation key of a device: the key with the longest matching prefix. */
  findByDevice(device: string): KeyEntry | undefined;
};

/** A fault that the operator can correct; its message names the place and no key data. */
export class KeyTableError extends Error {
  override name = 'KeyTableError';
}

const entriesMax = 10_000;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const checkValuePattern = /^[0-9A-F]{6}$/;
const devicePattern = /^[0-9A-F]{4,20}$/;
const referencePattern = /^[\x21-\x7e]{1,2048}$/;
const ksnDescriptorPattern = /^[0-9A-F]{3}$/;
const organizationPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const knownMembers = new Set([
  'name',
  'usage',
  'algorithm',
  'checkValue',
  'reference',
  'devices',
  'ksnDescriptor',
  'derivation',
  'organizations',
]);

type Members = Readonly<Record<string, unknown>>;

const isText = (value: unknown, form: RegExp): value is string =>
  typeof value === 'string' && form.test(value);

const isDevices = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => isText(each, devicePattern));

const isOrganizations = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((each) => isText(each, organizationPattern));

/** Checks every rule of one entry; each fault is text that follows the number of the entry. */
function* listEntryFaults(entry: Members): Generator<string> {
  const { name, usage, algorithm, checkValue, reference, devices } = entry;
  for (const member of Object.keys(entry))
    if (!knownMembers.has(member)) yield `has an unknown field ${member}`;
  if (!isText(name, namePattern)) yield 'needs a name of letters, digits, dots, _ and -';
  if (!keyUsages.some((each) => each === usage)) yield `needs a usage: ${keyUsages.join(', ')}`;
  if (algorithm !== 'Tdes' && algorithm !== 'Aes') yield 'needs an algorithm: Tdes or Aes';
  if (!isText(checkValue, checkValuePattern)) yield 'needs a checkValue of six hexadecimal digits';
  if (!isText(reference, referencePattern)) yield 'needs a reference';
  if (devices !== undefined && !isDevices(devices)) {
    yield 'lists devices that are not serial number prefixes of 4 to 20 hexadecimal digits';
  }
  if (isDevices(devices) && devices.length > 0 && usage !== 'BaseDerivation')
    yield 'has devices, but is not a BaseDerivation key';
  if (
    entry['ksnDescriptor'] !== undefined &&
    !isText(entry['ksnDescriptor'], ksnDescriptorPattern)
  ) {
    yield 'has a ksnDescriptor that is not three hexadecimal digits';
  }
  const { derivation } = entry;
  if (derivation !== undefined && !workingKeyAlgorithms.some((each) => each === derivation)) {
    yield `needs a derivation of ${workingKeyAlgorithms.join(', ')}`;
  }
  if (derivation !== undefined && usage !== 'BaseDerivation') {
    yield 'has a derivation, but is not a BaseDerivation key';
  }
  if (derivation !== undefined && algorithm === 'Tdes' && derivation !== 'TDES_2KEY') {
    yield `is of Tdes, and derives TDES_2KEY alone, not ${String(derivation)}`;
  }
  if (entry['organizations'] !== undefined && !isOrganizations(entry['organizations'])) {
    yield 'lists organizations that are not identifiers';
  }
}

const toMembers = (value: unknown): Members => (isObject(value) ? value : {});

/** Whether an organisation's link may name a key: its purpose and its organisations must match. */
export function mayUseKey(
  table: KeyTable,
  keyRef: string,
  usage: KeyUsage,
  organizationId: string,
): boolean {
  // Keys outside the table are not allowed: a link stores its imported key and never names it.
  return table
    .findByReference(keyRef)
    .some((entry) => entry.usage === usage && mayOrganizationUse(entry, organizationId));
}

/** @throws KeyTableError with every fault */
export function parseKeyTable(text: string, source: string): KeyTable {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new KeyTableError(`${source} is no JSON`);
  }
  const keys = toMembers(json)['keys'];
  if (!Array.isArray(keys) || keys.length > entriesMax) {
    throw new KeyTableError(`${source} holds no list "keys" of at most ${entriesMax}`);
  }
  const faults = keys.flatMap((entry, index) =>
    [...listEntryFaults(toMembers(entry))].map((fault) => `key ${index + 1} ${fault}`),
  );
  if (faults.length > 0) throw new KeyTableError(`${source}: ${faults.join('; ')}`);
  return createKeyTable(
    keys.map((entry) => ({ devices: [], ...(entry as Omit<KeyEntry, 'devices'>) })),
    source,
  );
}

/** @throws KeyTableError if a name or a serial number prefix occurs twice */
export function createKeyTable(entries: readonly KeyEntry[], source: string): KeyTable {
  const byName = new Map<string, KeyEntry>();
  const byReference = new Map<string, KeyEntry[]>();
  const byDevice = new Map<string, KeyEntry>();
  for (const entry of entries) {
    if (byName.has(entry.name)) throw new KeyTableError(`${source} names ${entry.name} twice`);
    byName.set(entry.name, entry);
    const sameReference = byReference.get(entry.reference);
    if (sameReference === undefined) byReference.set(entry.reference, [entry]);
    else sameReference.push(entry);
    for (const prefix of entry.devices) {
      if (byDevice.has(prefix)) {
        throw new KeyTableError(`${source} gives the devices ${prefix} two keys`);
      }
      byDevice.set(prefix, entry);
    }
  }
  return {
    entries,
    findByName: (name) => byName.get(name),
    findByReference(ref) {
      const entry = byName.get(ref);
      return entry === undefined ? (byReference.get(ref) ?? []) : [entry];
    },
    findByDevice(device) {
      for (let length = device.length; length > 0; length -= 1) {
        const entry = byDevice.get(device.slice(0, length));
        if (entry !== undefined) return entry;
      }
      return undefined;
    },
  };
}

/** @throws KeyTableError */
export function loadKeyTable(file: string): KeyTable {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new KeyTableError(`${file} cannot be read (${reason})`);
  }
  return parseKeyTable(text, file);
}
