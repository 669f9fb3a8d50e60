// Checks the keys and certificates that a link's settings reference.
import { defined } from '@switchyard/contract';
import { type Hsm, HsmError, type KeyFacts } from '../../vault/index.ts';
import type { Hosts } from '../iso8583-host/host-tables.ts';
import type { ClientCertificates } from '../keys/client-certificate-store.ts';
import type { AcquirerLink } from '../spi/acquirer-spi.ts';
import { type LinkFault, LinkSettingFault } from '../spi/invalid-link-setting.ts';

/** The dialect, keys and certificate that a link depends on. */
export type LinkNames = {
  readonly dialect?: string | undefined;
  readonly zonePinKey?: { keyRef: string; format: 'ISO0' | 'ISO3' | 'ISO4' };
  readonly macKey?: { keyRef: string };
  readonly zoneMasterKey?: { keyRef: string };
  readonly clientCertificate?: string;
};

type Deps = {
  readonly hsm?: Pick<Hsm, 'mayUse' | 'checkKey'> | undefined;
  readonly certificates: ClientCertificates;
  readonly hosts: Pick<Hosts, 'find'>;
  readonly clock: { now(): number };
};

export type Inspected = {
  readonly faults: readonly LinkFault[];
  /** The HSM did not respond: the check must be repeated. */
  readonly isUndecided: boolean;
};

type NamedKey = {
  readonly pointer: string;
  readonly keyRef: string;
  readonly usage: KeyFacts['usage'];
  /** Returns an error if the algorithm of the key does not match the settings. */
  contradicted?(facts: KeyFacts): LinkFault | undefined;
};

const macAlgorithms = { AesCmac: 'Aes', Iso9797Alg3: 'Tdes' } as const;
const purposes = {
  ZonePin: 'a zone PIN key',
  Mac: 'a MAC key',
  KeyEncryption: 'a zone master key',
} as const;

/** Extracts the dependencies from the settings of an open link. */
export function namesOf({ adapter, settings }: AcquirerLink): LinkNames {
  const { zonePinKey, clientCertificate } = settings;
  const { dialect, macKey, zoneMasterKey } = adapter === 'iso8583-host' ? settings : {};
  return defined({
    zonePinKey:
      zonePinKey === undefined
        ? undefined
        : { keyRef: zonePinKey.keyRef, format: `ISO${zonePinKey.format}` as const },
    clientCertificate,
    dialect,
    macKey,
    zoneMasterKey,
  });
}

/** ISO 9564-1 format 4 requires an AES key; formats 0 and 3 require a TDES key. */
function pinKeyOf({ zonePinKey }: LinkNames): NamedKey | undefined {
  if (zonePinKey === undefined) return undefined;
  const { keyRef, format } = zonePinKey;
  return {
    pointer: '/zonePinKey/keyRef',
    keyRef,
    usage: 'ZonePin',
    contradicted({ algorithm }) {
      if ((format === 'ISO4') === (algorithm === 'Aes')) return undefined;
      return {
        pointer: '/zonePinKey/format',
        detail: `requires another algorithm than that of the key, ${algorithm}`,
      };
    },
  };
}

function macKeyOf({ macKey, dialect }: LinkNames, hosts: Deps['hosts']): NamedKey | undefined {
  if (macKey === undefined) return undefined;
  const mac = dialect === undefined ? undefined : hosts.find(dialect)?.host.table.mac;
  const pointer = '/macKey/keyRef';
  return {
    pointer,
    keyRef: macKey.keyRef,
    usage: 'Mac',
    contradicted({ algorithm }) {
      if (mac === undefined || macAlgorithms[mac.algorithm] === algorithm) return undefined;
      return {
        pointer,
        detail: `is a key for ${algorithm}, but the dialect ${dialect} requires ${mac.algorithm}`,
      };
    },
  };
}

function masterKeyOf({ zoneMasterKey }: LinkNames): NamedKey | undefined {
  if (zoneMasterKey === undefined) return undefined;
  return {
    pointer: '/zoneMasterKey/keyRef',
    keyRef: zoneMasterKey.keyRef,
    usage: 'KeyEncryption',
  };
}

const isPurpose = (usage: KeyFacts['usage']): usage is keyof typeof purposes => usage in purposes;

/** The text hides owner and usage, because the key may belong to another organisation. */
const notOurs = ({ pointer, usage }: NamedKey): LinkFault => ({
  pointer,
  detail: `is not ${isPurpose(usage) ? purposes[usage] : 'a key'} of this organisation`,
});

/** @returns an error, or `Incomplete` if the HSM did not respond */
async function faultOfKey(
  { hsm }: Deps,
  organizationId: string,
  key: NamedKey,
): Promise<LinkFault | 'Undecided' | undefined> {
  if (hsm === undefined) return 'Undecided';
  if (!hsm.mayUse(key.keyRef, key.usage, organizationId)) return notOurs(key);
  try {
    const facts = await hsm.checkKey(key.keyRef);
    return facts.usage === key.usage ? key.contradicted?.(facts) : notOurs(key);
  } catch (error) {
    if (!(error instanceof HsmError)) throw error;
    if (error.code === 'KeyNotFound' || error.code === 'KeyUsage') return notOurs(key);
    return 'Undecided';
  }
}

function faultOfCertificate(
  { certificates, clock }: Deps,
  organizationId: string,
  name: string | undefined,
): LinkFault | undefined {
  if (name === undefined) return undefined;
  const pointer = '/clientCertificate';
  try {
    const { expiresAt } = certificates.find(organizationId, name);
    return expiresAt > clock.now() ? undefined : { pointer, detail: 'has expired' };
  } catch (error) {
    if (!(error instanceof LinkSettingFault)) throw error;
    return { pointer, detail: error.message };
  }
}

/** @example const { faults } = await inspectLink({ hsm, certificates, hosts, clock }, organizationId, names); */
export async function inspectLink(
  deps: Deps,
  organizationId: string,
  names: LinkNames,
): Promise<Inspected> {
  const keys = [pinKeyOf(names), macKeyOf(names, deps.hosts), masterKeyOf(names)];
  const told = await Promise.all(
    keys.filter((key) => key !== undefined).map((key) => faultOfKey(deps, organizationId, key)),
  );
  const certificate = faultOfCertificate(deps, organizationId, names.clientCertificate);
  const faults = [...told, certificate].filter((each) => typeof each === 'object');
  return { faults, isUndecided: told.includes('Undecided') };
}
