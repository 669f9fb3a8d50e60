// Checks the keys and certificates that a link's settings reference, also periodically in the background.
import { defined } from '@switchyard/contract';
import { createKeyedQueue, type Log } from '../../platform/index.ts';
import { type Hsm, HsmError, type KeyFacts } from '../../vault/index.ts';
import type { HostTables } from '../iso8583-host/load-dialect-tables.ts';
import type { ClientCertificates } from '../keys/load-client-certificates.ts';
import {
  type AcquirerLink,
  InvalidLinkSettingError,
  type LinkConfigurationError,
} from '../spi/acquirer-spi.ts';

export type LinkDependencies = {
  readonly dialect?: string | undefined;
  readonly zonePinKey?: { keyRef: string; format: 'ISO0' | 'ISO3' | 'ISO4' };
  readonly macKey?: { keyRef: string };
  readonly zoneMasterKey?: { keyRef: string };
  readonly clientCertificate?: string;
};

type LinkCheckPorts = {
  readonly hsm?: Pick<Hsm, 'mayUse' | 'checkKey'> | undefined;
  readonly clientCertificates: ClientCertificates;
  readonly hostTables: Pick<HostTables, 'find'>;
  readonly clock: { now(): number };
};

type LinkCheckResult = {
  readonly errors: readonly LinkConfigurationError[];
  /** The HSM did not respond: the check must be repeated. */
  readonly isIncomplete: boolean;
};

const keySettings = [
  { name: 'zonePinKey', usage: 'ZonePin', label: 'a zone PIN key' },
  { name: 'macKey', usage: 'Mac', label: 'a MAC key' },
  { name: 'zoneMasterKey', usage: 'KeyEncryption', label: 'a zone master key' },
] as const;

type ReferencedKey = (typeof keySettings)[number] & { pointer: string; keyRef: string };

const listReferencedKeys = (dependencies: LinkDependencies): ReferencedKey[] =>
  keySettings.flatMap((setting) => {
    const { [setting.name]: key } = dependencies;
    const pointer = `/${setting.name}/keyRef`;
    return key === undefined ? [] : [{ ...setting, pointer, keyRef: key.keyRef }];
  });

/** Hides owner and usage, because the key may belong to another organisation. */
const unusableKey = ({ pointer, label }: ReferencedKey): LinkConfigurationError => ({
  pointer,
  detail: `is not ${label} of this organisation; the platform loads new keys only when it starts`,
});

const algorithmByMac = { AesCmac: 'Aes', Iso9797Alg3: 'Tdes' } as const;

/** ISO 9564-1 format 4 requires an AES key; formats 0 and 3 require a TDES key. */
function findAlgorithmMismatch(
  { name, pointer }: ReferencedKey,
  algorithm: KeyFacts['algorithm'],
  { zonePinKey, dialect = '' }: LinkDependencies,
  hostTables: LinkCheckPorts['hostTables'],
): LinkConfigurationError | undefined {
  if (name === 'zonePinKey') {
    if ((zonePinKey?.format === 'ISO4') === (algorithm === 'Aes')) return undefined;
    const detail = `requires another algorithm than that of the key, ${algorithm}`;
    return { pointer: '/zonePinKey/format', detail };
  }
  const mac = name === 'macKey' ? hostTables.find(dialect)?.host.table.mac : undefined;
  if (mac === undefined || algorithmByMac[mac.algorithm] === algorithm) return undefined;
  const detail = `is a key for ${algorithm}, but the dialect ${dialect} requires ${mac.algorithm}`;
  return { pointer, detail };
}

export function dependenciesOf({ adapter, settings }: AcquirerLink): LinkDependencies {
  const { zonePinKey, clientCertificate } = settings;
  const { dialect, macKey, zoneMasterKey } = adapter === 'iso8583-host' ? settings : {};
  return defined({
    zonePinKey: zonePinKey && {
      keyRef: zonePinKey.keyRef,
      format: `ISO${zonePinKey.format}` as const,
    },
    clientCertificate,
    dialect,
    macKey,
    zoneMasterKey,
  });
}

/** @throws InvalidLinkSettingError for a key of another organisation or with another usage */
export function assertOwnKeys(hsm: Pick<Hsm, 'mayUse'> | undefined, link: AcquirerLink): void {
  for (const key of listReferencedKeys(dependenciesOf(link))) {
    if (hsm === undefined || hsm.mayUse(key.keyRef, key.usage, link.organizationId)) continue;
    const { pointer, detail } = unusableKey(key);
    throw new InvalidLinkSettingError(pointer, detail);
  }
}

/** @returns an error, or `Incomplete` if the HSM did not respond */
async function checkReferencedKey(
  { hsm, hostTables }: LinkCheckPorts,
  organizationId: string,
  key: ReferencedKey,
  dependencies: LinkDependencies,
): Promise<LinkConfigurationError | 'Incomplete' | undefined> {
  if (hsm === undefined) return 'Incomplete';
  if (!hsm.mayUse(key.keyRef, key.usage, organizationId)) return unusableKey(key);
  try {
    const { usage, algorithm } = await hsm.checkKey(key.keyRef);
    if (usage !== key.usage) return unusableKey(key);
    return findAlgorithmMismatch(key, algorithm, dependencies, hostTables);
  } catch (error) {
    if (!(error instanceof HsmError)) throw error;
    return error.code === 'KeyNotFound' || error.code === 'KeyUsage'
      ? unusableKey(key)
      : 'Incomplete';
  }
}

function checkCertificate(
  { clientCertificates, clock }: LinkCheckPorts,
  organizationId: string,
  name: string | undefined,
): LinkConfigurationError | undefined {
  if (name === undefined) return undefined;
  const pointer = '/clientCertificate';
  try {
    const { expiresAt } = clientCertificates.find(organizationId, name);
    return expiresAt > clock.now() ? undefined : { pointer, detail: 'has expired' };
  } catch (error) {
    if (!(error instanceof InvalidLinkSettingError)) throw error;
    return { pointer, detail: error.message };
  }
}

export async function checkLinkConfiguration(
  ports: LinkCheckPorts,
  organizationId: string,
  dependencies: LinkDependencies,
): Promise<LinkCheckResult> {
  const keyResults = await Promise.all(
    listReferencedKeys(dependencies).map((key) =>
      checkReferencedKey(ports, organizationId, key, dependencies),
    ),
  );
  const certificateError = checkCertificate(ports, organizationId, dependencies.clientCertificate);
  const errors = [...keyResults, certificateError].filter((each) => typeof each === 'object');
  return { errors, isIncomplete: keyResults.includes('Incomplete') };
}

export type CheckedLink = {
  link: AcquirerLink;
  /** The last check; its errors remain until the next check completes. */
  check?:
    | { fingerprint: string; errors: readonly LinkConfigurationError[]; nextCheckAt: number }
    | undefined;
};

const recheckIntervalMs = 600_000;
/** Applies after an error or an incomplete check. */
const recheckAfterErrorMs = 30_000;

/** @returns schedules a check if the settings changed or the last check is too old */
export function createConfigurationChecker(
  ports: LinkCheckPorts & { log: Log },
): (entry: CheckedLink, fingerprint: string) => void {
  const { clock, log } = ports;
  const checks = createKeyedQueue();

  async function runCheck(entry: CheckedLink, scheduled: CheckedLink['check']): Promise<void> {
    // The settings changed or the link was removed after the check was scheduled.
    if (scheduled === undefined || entry.check !== scheduled) return;
    const { organizationId, name } = entry.link;
    let result: LinkCheckResult = { errors: [], isIncomplete: true };
    try {
      result = await checkLinkConfiguration(ports, organizationId, dependenciesOf(entry.link));
    } catch (error) {
      log.error({ err: error, link: name }, 'configuration check of an acquirer link failed');
    }
    if (entry.check !== scheduled) return;
    const { errors, isIncomplete } = result;
    for (const { pointer, detail } of errors)
      log.warn({ link: name, pointer, detail }, 'acquirer link has an invalid setting');
    const delayMs = isIncomplete || errors.length > 0 ? recheckAfterErrorMs : recheckIntervalMs;
    entry.check = { ...scheduled, errors, nextCheckAt: clock.now() + delayMs };
  }

  return (entry, fingerprint) => {
    const previous = entry.check?.fingerprint === fingerprint ? entry.check : undefined;
    if (previous !== undefined && clock.now() < previous.nextCheckAt) return;
    const errors = previous?.errors ?? [];
    const scheduled = { fingerprint, errors, nextCheckAt: Number.POSITIVE_INFINITY };
    entry.check = scheduled;
    void checks.run('check', () => runCheck(entry, scheduled));
  };
}
