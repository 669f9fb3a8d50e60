// Checks the keys and certificates that a link's settings reference.
import { defined } from '@switchyard/contract';
import { type Hsm, HsmError, type KeyFacts } from '../../vault/index.ts';
import type { HostTables } from '../iso8583-host/host-tables.ts';
import type { ClientCertificates } from '../keys/client-certificate-store.ts';
import type { AcquirerLink } from '../spi/acquirer-spi.ts';
import {
  InvalidLinkSettingError,
  type LinkConfigurationError,
} from '../spi/invalid-link-setting.ts';

/** The dialect, keys and certificate that a link depends on. */
export type LinkDependencies = {
  readonly dialect?: string | undefined;
  readonly zonePinKey?: { keyRef: string; format: 'ISO0' | 'ISO3' | 'ISO4' };
  readonly macKey?: { keyRef: string };
  readonly zoneMasterKey?: { keyRef: string };
  readonly clientCertificate?: string;
};

type Deps = {
  readonly hsm?: Pick<Hsm, 'mayUse' | 'checkKey'> | undefined;
  readonly clientCertificates: ClientCertificates;
  readonly hostTables: Pick<HostTables, 'find'>;
  readonly clock: { now(): number };
};

export type LinkCheckResult = {
  readonly errors: readonly LinkConfigurationError[];
  /** The HSM did not respond: the check must be repeated. */
  readonly isIncomplete: boolean;
};

type ReferencedKey = {
  readonly pointer: string;
  readonly keyRef: string;
  readonly usage: KeyFacts['usage'];
  /** Returns an error if the algorithm of the key does not match the settings. */
  findMismatch?(facts: KeyFacts): LinkConfigurationError | undefined;
};

const keyAlgorithmByMac = { AesCmac: 'Aes', Iso9797Alg3: 'Tdes' } as const;
const usageLabels = {
  ZonePin: 'a zone PIN key',
  Mac: 'a MAC key',
  KeyEncryption: 'a zone master key',
} as const;

/** Extracts the dependencies from the settings of an open link. */
export function dependenciesOf({ adapter, settings }: AcquirerLink): LinkDependencies {
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
function pinKeyReference({ zonePinKey }: LinkDependencies): ReferencedKey | undefined {
  if (zonePinKey === undefined) return undefined;
  const { keyRef, format } = zonePinKey;
  return {
    pointer: '/zonePinKey/keyRef',
    keyRef,
    usage: 'ZonePin',
    findMismatch({ algorithm }) {
      if ((format === 'ISO4') === (algorithm === 'Aes')) return undefined;
      return {
        pointer: '/zonePinKey/format',
        detail: `requires another algorithm than that of the key, ${algorithm}`,
      };
    },
  };
}

function macKeyReference(
  { macKey, dialect }: LinkDependencies,
  hosts: Deps['hostTables'],
): ReferencedKey | undefined {
  if (macKey === undefined) return undefined;
  const mac = dialect === undefined ? undefined : hosts.find(dialect)?.host.table.mac;
  const pointer = '/macKey/keyRef';
  return {
    pointer,
    keyRef: macKey.keyRef,
    usage: 'Mac',
    findMismatch({ algorithm }) {
      if (mac === undefined || keyAlgorithmByMac[mac.algorithm] === algorithm) return undefined;
      return {
        pointer,
        detail: `is a key for ${algorithm}, but the dialect ${dialect} requires ${mac.algorithm}`,
      };
    },
  };
}

function masterKeyReference({ zoneMasterKey }: LinkDependencies): ReferencedKey | undefined {
  if (zoneMasterKey === undefined) return undefined;
  return {
    pointer: '/zoneMasterKey/keyRef',
    keyRef: zoneMasterKey.keyRef,
    usage: 'KeyEncryption',
  };
}

const hasUsageLabel = (usage: KeyFacts['usage']): usage is keyof typeof usageLabels =>
  usage in usageLabels;

/** The text hides owner and usage, because the key may belong to another organisation. */
const foreignKeyError = ({ pointer, usage }: ReferencedKey): LinkConfigurationError => ({
  pointer,
  detail: `is not ${hasUsageLabel(usage) ? usageLabels[usage] : 'a key'} of this organisation`,
});

/** @returns an error, or `Incomplete` if the HSM did not respond */
async function checkReferencedKey(
  { hsm }: Deps,
  organizationId: string,
  key: ReferencedKey,
): Promise<LinkConfigurationError | 'Incomplete' | undefined> {
  if (hsm === undefined) return 'Incomplete';
  if (!hsm.mayUse(key.keyRef, key.usage, organizationId)) return foreignKeyError(key);
  try {
    const keyFacts = await hsm.checkKey(key.keyRef);
    return keyFacts.usage === key.usage ? key.findMismatch?.(keyFacts) : foreignKeyError(key);
  } catch (error) {
    if (!(error instanceof HsmError)) throw error;
    if (error.code === 'KeyNotFound' || error.code === 'KeyUsage') return foreignKeyError(key);
    return 'Incomplete';
  }
}

function checkCertificate(
  { clientCertificates: certificates, clock }: Deps,
  organizationId: string,
  name: string | undefined,
): LinkConfigurationError | undefined {
  if (name === undefined) return undefined;
  const pointer = '/clientCertificate';
  try {
    const { expiresAt } = certificates.find(organizationId, name);
    return expiresAt > clock.now() ? undefined : { pointer, detail: 'has expired' };
  } catch (error) {
    if (!(error instanceof InvalidLinkSettingError)) throw error;
    return { pointer, detail: error.message };
  }
}

/** @example const { faults } = await inspectLink({ hsm, certificates, hosts, clock }, organizationId, names); */
export async function checkLinkConfiguration(
  deps: Deps,
  organizationId: string,
  dependencies: LinkDependencies,
): Promise<LinkCheckResult> {
  const keys = [
    pinKeyReference(dependencies),
    macKeyReference(dependencies, deps.hostTables),
    masterKeyReference(dependencies),
  ];
  const keyResults = await Promise.all(
    keys
      .filter((key) => key !== undefined)
      .map((key) => checkReferencedKey(deps, organizationId, key)),
  );
  const certificateError = checkCertificate(deps, organizationId, dependencies.clientCertificate);
  const errors = [...keyResults, certificateError].filter((each) => typeof each === 'object');
  return { errors, isIncomplete: keyResults.includes('Incomplete') };
}
