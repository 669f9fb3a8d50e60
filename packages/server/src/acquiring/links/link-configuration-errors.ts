// Finds what of a link's settings cannot be used: keys of another purpose, certificates that are not there.
import { defined } from '@switchyard/contract';
import { type Hsm, HsmError, type KeyFacts } from '../../vault/index.ts';
import type { Hosts } from '../iso8583-host/host-tables.ts';
import type { ClientCertificates } from '../keys/client-certificate-store.ts';
import type { AcquirerLink } from '../spi/acquirer-spi.ts';
import { type LinkFault, LinkSettingFault } from '../spi/invalid-link-setting.ts';

/** What of a link names things that lie elsewhere. */
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
  /** A module did not say: it may be asked again. */
  readonly isUndecided: boolean;
};

type NamedKey = {
  readonly pointer: string;
  readonly keyRef: string;
  readonly usage: KeyFacts['usage'];
  /** What the algorithm of the key contradicts, if it does. */
  contradicted?(facts: KeyFacts): LinkFault | undefined;
};

const macAlgorithms = { AesCmac: 'Aes', Iso9797Alg3: 'Tdes' } as const;
const purposes = {
  ZonePin: 'a zone PIN key',
  Mac: 'a key of message authentication',
  KeyEncryption: 'a zone master key',
} as const;

/** What a link that is opened names. */
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

/** Format 4 is made for AES, the others for TDES. */
function pinKeyOf({ zonePinKey }: LinkNames): NamedKey | undefined {
  if (zonePinKey === undefined) return undefined;
  const { keyRef, format } = zonePinKey;
  return {
    pointer: '/zonePinKey/keyRef',
    keyRef,
    usage: 'ZonePin',
    contradicted({ algorithm }) {
      if ((format === 'ISO4') === (algorithm === 'Aes')) return undefined;
      return { pointer: '/zonePinKey/format', detail: `does not go with a key of ${algorithm}` };
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
      return { pointer, detail: `is of ${algorithm}, and ${dialect} makes ${mac.algorithm}` };
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

/** Whose it is and what it is for stay untold: it may be another organisation's. */
const notOurs = ({ pointer, usage }: NamedKey): LinkFault => ({
  pointer,
  detail: `is not ${isPurpose(usage) ? purposes[usage] : 'a key'} of this organisation`,
});

/** @returns a fault, or whether the module left it open */
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
    return expiresAt > clock.now() ? undefined : { pointer, detail: 'has run out' };
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
