// Imports keys into the software HSM from components of several people.
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import { keyCheckValue } from '@switchyard/pin';
import { decryptBytes, encryptBytes } from '../../platform/index.ts';
import { HsmError, type KeyAlgorithm, type KeyUsage } from './hsm-types.ts';
import { type Derivation, type KeyEntry, keyTableOf, readKeyTable } from './key-table.ts';
import {
  demandKeyLength,
  sealedEntry,
  softwareDirectoryIn,
  softwareKeysFileIn,
  softwareMasterKey,
  softwareMasterKeyFileIn,
  storedEntries,
  storeEntries,
  writeWhole,
} from './software-key-storage.ts';

export type KeyWanted = {
  readonly name: string;
  readonly usage: KeyUsage;
  readonly algorithm: KeyAlgorithm;
  /** For a base derivation key: the prefixes of its devices' serial numbers. */
  readonly devices: readonly string[];
  /** For a base derivation key: the algorithm of its devices' working keys. */
  readonly derivation?: Derivation;
  /** The number of components, each from another person. */
  readonly of: number;
};

export type ComponentGiven = {
  readonly custodian: string;
  readonly passphrase: string;
  readonly component: Buffer;
  /** The documented check value of the whole key; another one discards all components. */
  readonly checkValue?: string;
};

export type ComponentTaken = {
  readonly componentCheckValue: string;
  readonly entered: number;
  readonly of: number;
  /** The check value of the whole key, after the last component. */
  readonly checkValue?: string;
};

type Custodian = { readonly name: string; readonly salt: string; readonly hash: string };
type Component = { readonly custodian: string; readonly sealed: string };
type Pending = KeyWanted & { readonly components: readonly Component[] };
type State = { readonly custodians: readonly Custodian[]; readonly pending: readonly Pending[] };

export type KeyCeremony = {
  addCustodian(name: string, passphrase: string): void;
  /** @throws CeremonyFault */
  addComponent(wanted: KeyWanted, given: ComponentGiven): ComponentTaken;
  list(): { keys: readonly KeyEntry[]; pending: readonly (KeyWanted & { entered: number })[] };
  /** Deletes a key, or the components of an incomplete key. */
  remove(name: string): void;
};

/** A fault that a person can correct; its message contains no component, key or passphrase. */
export class CeremonyFault extends Error {
  override name = 'CeremonyFault';
}

const peopleLeast = 2;
const peopleMost = 5;
const passphraseLeast = 12;
const distinctBytesLeast = 4;
const saltBytes = 16;
const hashBytes = 32;
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const hashOf = (passphrase: string, salt: string): Buffer =>
  scryptSync(passphrase.normalize('NFKC'), Buffer.from(salt, 'base64'), hashBytes);

const placeOf = (name: string, custodian: string): string => `hsm-component|${name}|${custodian}`;

function demand(holds: boolean, message: string): asserts holds {
  if (!holds) throw new CeremonyFault(message);
}

function readState(file: string): State {
  if (!existsSync(file)) return { custodians: [], pending: [] };
  // The platform writes this file whole; an edit only makes the components undecryptable.
  return JSON.parse(readFileSync(file, 'utf8')) as State;
}

const sameKey = (one: KeyWanted, other: KeyWanted): boolean =>
  one.usage === other.usage &&
  one.algorithm === other.algorithm &&
  one.of === other.of &&
  one.devices.join() === other.devices.join() &&
  one.derivation === other.derivation;

/** A weak component would leave the secrecy of the key to the other components. */
function demandComponent(component: Buffer, algorithm: KeyAlgorithm): void {
  try {
    demandKeyLength(component, algorithm);
  } catch (error) {
    if (error instanceof HsmError) throw new CeremonyFault('a component is as long as a key');
    throw error;
  }
  demand(new Set(component).size >= distinctBytesLeast, 'this is not a random component');
}

/** Builds the entry of a key; a weak key discards all components. */
function strongEntry(...of: Parameters<typeof sealedEntry>): KeyEntry {
  try {
    return sealedEntry(...of);
  } catch (error) {
    if (!(error instanceof HsmError)) throw error;
    throw new CeremonyFault(`${error.message}: all components are thrown away`);
  }
}

/** @example const ceremony = createKeyCeremony(dataDir); ceremony.addCustodian('alice', passphrase); */
export function createKeyCeremony(dataDir: string): KeyCeremony {
  const stateFile = join(softwareDirectoryIn(dataDir), 'ceremony.json');
  const keysFile = softwareKeysFileIn(dataDir);
  const master = softwareMasterKey(softwareMasterKeyFileIn(dataDir));

  const write = (state: State): void =>
    writeWhole(stateFile, `${JSON.stringify(state, undefined, 2)}\n`);

  function demandCustodian({ custodians }: State, name: string, passphrase: string): void {
    const known = custodians.find((each) => each.name === name);
    // An unknown name takes the same time as a known one.
    const { salt, hash } = known ?? { salt: 'AAAA', hash: '' };
    const given = hashOf(passphrase, salt);
    const kept = Buffer.from(hash, 'base64');
    const isRight = kept.length === given.length && timingSafeEqual(kept, given);
    demand(isRight, 'no such custodian, or another passphrase');
  }

  function whole(pending: Pending): Buffer {
    const parts = pending.components.map(({ custodian, sealed }) =>
      decryptBytes(master, Buffer.from(sealed, 'base64'), placeOf(pending.name, custodian)),
    );
    const key = Buffer.alloc(parts[0]?.length ?? 0);
    for (const part of parts) {
      for (let at = 0; at < key.length; at += 1) key[at] = (key[at] ?? 0) ^ (part[at] ?? 0);
      part.fill(0);
    }
    return key;
  }

  function finish(state: State, pending: Pending, expected: string | undefined): string {
    const rest = state.pending.filter(({ name }) => name !== pending.name);
    // The components are used up, even if the key is refused.
    write({ ...state, pending: rest });
    const key = whole(pending);
    const { name, usage, algorithm, devices, derivation } = pending;
    const checkValue = keyCheckValue(key, algorithm);
    const isExpected = expected === undefined || expected.toUpperCase() === checkValue;
    const facts = { name, usage, algorithm, devices, ...defined({ derivation }) };
    const entry = strongEntry(master, key, facts);
    key.fill(0);
    demand(
      isExpected,
      `the key has the check value ${checkValue}, which the papers do not say: all components are thrown away`,
    );
    const entries = [...storedEntries(keysFile), entry];
    keyTableOf(entries, keysFile);
    storeEntries(keysFile, entries);
    return checkValue;
  }

  function demandWanted(state: State, wanted: KeyWanted): Pending {
    const { name, of } = wanted;
    demand(of >= peopleLeast && of <= peopleMost, `${peopleLeast} to ${peopleMost} components`);
    const line = { ...wanted, of: undefined, checkValue: '000000', reference: '-' };
    // Applies the rules of the key table before a person enters a component.
    readKeyTable(JSON.stringify({ keys: [line] }), 'the key');
    const isKnown = storedEntries(keysFile).some((each) => each.name === name);
    demand(!isKnown && !name.startsWith('demo-'), `there is a key ${name}`);
    const standing = state.pending.find((each) => each.name === name);
    demand(
      standing === undefined || sameKey(standing, wanted),
      `the first component of ${name} was for another kind of key`,
    );
    return standing ?? { ...wanted, components: [] };
  }

  return {
    addCustodian(name, passphrase) {
      const state = readState(stateFile);
      demand(nameForm.test(name), 'a name has letters, digits, dots, _ and -');
      demand(!state.custodians.some((each) => each.name === name), `there is a custodian ${name}`);
      demand(passphrase.length >= passphraseLeast, `${passphraseLeast} characters at least`);
      const salt = randomBytes(saltBytes).toString('base64');
      const hash = hashOf(passphrase, salt).toString('base64');
      write({ ...state, custodians: [...state.custodians, { name, salt, hash }] });
    },
    addComponent(wanted, { custodian, passphrase, component, checkValue }) {
      const state = readState(stateFile);
      demandCustodian(state, custodian, passphrase);
      const pending = demandWanted(state, wanted);
      demand(
        !pending.components.some((each) => each.custodian === custodian),
        `${custodian} has brought a component of ${wanted.name}: another person brings the next`,
      );
      demandComponent(component, wanted.algorithm);
      const componentCheckValue = keyCheckValue(component, wanted.algorithm);
      const place = placeOf(wanted.name, custodian);
      const sealed = encryptBytes(master, component, place).toString('base64');
      component.fill(0);
      const components = [...pending.components, { custodian, sealed }];
      const next: Pending = { ...pending, components };
      const others = state.pending.filter(({ name }) => name !== wanted.name);
      const taken = { componentCheckValue, entered: components.length, of: wanted.of };
      if (components.length < wanted.of) {
        write({ ...state, pending: [...others, next] });
        return taken;
      }
      return { ...taken, checkValue: finish(state, next, checkValue) };
    },
    list() {
      const pending = readState(stateFile).pending.map(({ components, ...wanted }) => ({
        ...wanted,
        entered: components.length,
      }));
      return { keys: storedEntries(keysFile), pending };
    },
    remove(name) {
      const state = readState(stateFile);
      const entries = storedEntries(keysFile);
      const isPending = state.pending.some((each) => each.name === name);
      demand(isPending || entries.some((each) => each.name === name), `there is no key ${name}`);
      if (isPending) {
        write({ ...state, pending: state.pending.filter((each) => each.name !== name) });
      } else {
        storeEntries(
          keysFile,
          entries.filter((each) => each.name !== name),
        );
      }
    },
  };
}
