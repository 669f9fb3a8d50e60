// Reads the key table of an HSM: names, purposes and check values, and no clear keys.
import { readFileSync } from 'node:fs';
import { type KeyAlgorithm, type KeyUsage, keyUsages } from './hsm-types.ts';

/** The algorithms of working keys by AWS name, from the weakest to the strongest. */
const derivations = ['TDES_2KEY', 'TDES_3KEY', 'AES_128', 'AES_192', 'AES_256'] as const;
export type Derivation = (typeof derivations)[number];

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
  readonly derivation?: Derivation;
  /** The identifiers of organisations that may use the key; if missing, every organisation may. */
  readonly organizations?: readonly string[];
};

/** The default is two-key TDES or AES-128. */
export const derivationOf = ({ derivation, algorithm }: KeyEntry): Derivation =>
  derivation ?? (algorithm === 'Tdes' ? 'TDES_2KEY' : 'AES_128');

/** Whether a working key is stronger than its base key, which ANSI X9.24-3:2017 6.1 forbids. */
export const isStrongerThan = (working: Derivation, base: Derivation): boolean =>
  derivations.indexOf(working) > derivations.indexOf(base);

/** Whether an organisation may use a key; a restricted key requires an organisation. */
export const isOpenTo = (
  { organizations }: Pick<KeyEntry, 'organizations'>,
  organizationId: string | undefined,
): boolean =>
  organizations === undefined ||
  (organizationId !== undefined && organizations.includes(organizationId));

export type KeyTable = {
  readonly entries: readonly KeyEntry[];
  named(name: string): KeyEntry | undefined;
  /** Finds keys by name, or by reference; several names can have one reference. */
  called(ref: string): readonly KeyEntry[];
  /** The base derivation key of a device: the key with the longest matching prefix. */
  ofDevice(device: string): KeyEntry | undefined;
};

/** A fault that the operator can correct; its message names the place and no key data. */
export class KeyTableFault extends Error {
  override name = 'KeyTableFault';
}

const entriesMax = 10_000;
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const checkValueForm = /^[0-9A-F]{6}$/;
const deviceForm = /^[0-9A-F]{4,20}$/;
const referenceForm = /^[\x21-\x7e]{1,2048}$/;
const ksnDescriptorForm = /^[0-9A-F]{3}$/;
const organizationForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const known = new Set([
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
  Array.isArray(value) && value.every((each) => isText(each, deviceForm));

const isOrganizations = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((each) => isText(each, organizationForm));

/** Checks every rule of one entry; each fault is text that follows the number of the entry. */
function* faultsOf(entry: Members): Generator<string> {
  const { name, usage, algorithm, checkValue, reference, devices } = entry;
  for (const member of Object.keys(entry)) if (!known.has(member)) yield `has a member ${member}`;
  if (!isText(name, nameForm)) yield 'needs a name of letters, digits, dots, _ and -';
  if (!keyUsages.some((each) => each === usage)) yield `needs a usage: ${keyUsages.join(', ')}`;
  if (algorithm !== 'Tdes' && algorithm !== 'Aes') yield 'needs an algorithm: Tdes or Aes';
  if (!isText(checkValue, checkValueForm)) yield 'needs a checkValue of six hexadecimal digits';
  if (!isText(reference, referenceForm)) yield 'needs a reference';
  if (devices !== undefined && !isDevices(devices)) {
    yield 'names devices by the beginnings of their serial numbers, 4 to 20 hexadecimal digits';
  }
  if (isDevices(devices) && devices.length > 0 && usage !== 'BaseDerivation')
    yield 'has devices, and derives no keys';
  if (entry['ksnDescriptor'] !== undefined && !isText(entry['ksnDescriptor'], ksnDescriptorForm)) {
    yield 'has a ksnDescriptor that is not three hexadecimal digits';
  }
  const { derivation } = entry;
  if (derivation !== undefined && !derivations.some((each) => each === derivation)) {
    yield `needs a derivation of ${derivations.join(', ')}`;
  }
  if (derivation !== undefined && usage !== 'BaseDerivation') {
    yield 'has a derivation, and derives no keys';
  }
  if (derivation !== undefined && algorithm === 'Tdes' && derivation !== 'TDES_2KEY') {
    yield `is of Tdes, and derives TDES_2KEY alone, not ${String(derivation)}`;
  }
  if (entry['organizations'] !== undefined && !isOrganizations(entry['organizations'])) {
    yield 'names organizations by something else than their identifiers';
  }
}

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};

/** Whether an organisation's link may name a key: its purpose and its organisations must match. */
export function mayUseKey(
  table: KeyTable,
  keyRef: string,
  usage: KeyUsage,
  organizationId: string,
): boolean {
  // Keys outside the table are not allowed: a link stores its imported key and never names it.
  return table
    .called(keyRef)
    .some((entry) => entry.usage === usage && isOpenTo(entry, organizationId));
}

/** @throws KeyTableFault with every fault */
export function readKeyTable(text: string, where: string): KeyTable {
  let all: unknown;
  try {
    all = JSON.parse(text);
  } catch {
    throw new KeyTableFault(`${where} is no JSON`);
  }
  const keys = membersOf(all)['keys'];
  if (!Array.isArray(keys) || keys.length > entriesMax) {
    throw new KeyTableFault(`${where} holds no list "keys" of at most ${entriesMax}`);
  }
  const faults = keys.flatMap((entry, index) =>
    [...faultsOf(membersOf(entry))].map((fault) => `key ${index + 1} ${fault}`),
  );
  if (faults.length > 0) throw new KeyTableFault(`${where}: ${faults.join('; ')}`);
  return keyTableOf(
    keys.map((entry) => ({ devices: [], ...(entry as Omit<KeyEntry, 'devices'>) })),
    where,
  );
}

/** @throws KeyTableFault if a name or a serial number prefix occurs twice */
export function keyTableOf(entries: readonly KeyEntry[], where: string): KeyTable {
  const byName = new Map<string, KeyEntry>();
  const byReference = new Map<string, KeyEntry[]>();
  const byDevice = new Map<string, KeyEntry>();
  for (const entry of entries) {
    if (byName.has(entry.name)) throw new KeyTableFault(`${where} names ${entry.name} twice`);
    byName.set(entry.name, entry);
    const alike = byReference.get(entry.reference);
    if (alike === undefined) byReference.set(entry.reference, [entry]);
    else alike.push(entry);
    for (const beginning of entry.devices) {
      if (byDevice.has(beginning)) {
        throw new KeyTableFault(`${where} gives the devices ${beginning} two keys`);
      }
      byDevice.set(beginning, entry);
    }
  }
  return {
    entries,
    named: (name) => byName.get(name),
    called(ref) {
      const entry = byName.get(ref);
      return entry === undefined ? (byReference.get(ref) ?? []) : [entry];
    },
    ofDevice(device) {
      for (let length = device.length; length > 0; length -= 1) {
        const entry = byDevice.get(device.slice(0, length));
        if (entry !== undefined) return entry;
      }
      return undefined;
    },
  };
}

/** @throws KeyTableFault */
export function loadKeyTable(file: string): KeyTable {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new KeyTableFault(`${file} cannot be read (${why})`);
  }
  return readKeyTable(text, file);
}
