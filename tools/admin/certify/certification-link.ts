// Opens the acquirer link of a certification run with the adapter, the keys and the certificate of the platform.
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fail } from '../../../packages/cli/src/runtime/command-error.ts';
import { defined } from '../../../packages/contract/src/index.ts';
import {
  buildPinBlock,
  readKsn,
  sealPinBlock,
  tdesWorkingKey,
} from '../../../packages/pin/src/index.ts';
import {
  type AcquirerConnection,
  connectAcquirer,
  createClientCertificates,
  createHostTables,
  createZoneKeys,
} from '../../../packages/server/src/acquiring/index.ts';
import {
  acquirerLinkRules,
  type Clock,
  createAddressGuard,
  createLog,
  createMetrics,
  type Database,
  type Log,
  type Settings,
  systemClock,
} from '../../../packages/server/src/platform/index.ts';
import type { LinkToOpen } from '../../../packages/server/src/provisioning/index.ts';
import { createHsm, demoKeys, type Hsm } from '../../../packages/server/src/vault/index.ts';
import type { PlanCard } from './build-request.ts';
import type { CertificationPlan } from './certification-plan.ts';
import { createMessageLog } from './message-log.ts';

export type HostLink = Extract<LinkToOpen, { adapter: 'iso8583-host' }>;

export type CertificationLink = Awaited<ReturnType<typeof openCertificationLink>>;

type Options = {
  readonly settings: Settings;
  readonly database: Database;
  readonly link: HostLink;
  readonly plan: CertificationPlan;
};

const availableWithinMs = 30_000;
const pollMs = 20;
const msPerSecond = 1000;
/** A serial number that no device has. */
const testTerminal = 'certification';

type TestPin = Exclude<PlanCard['pin'], string | undefined>;

/** Encrypts a PIN as a terminal with the base derivation key of the demo does. */
function encryptTestPin(settings: Settings, digits: string, pan: string): TestPin {
  const { baseDerivationKey, ksn } = demoKeys(settings.dataDir).deviceKey(
    testTerminal,
    'DukptTdes',
  );
  const key = tdesWorkingKey(Buffer.from(baseDerivationKey, 'hex'), readKsn(ksn), 'pin');
  const block = buildPinBlock('ISO0', [...digits].map(Number), pan);
  const pinBlock = sealPinBlock('ISO0', key, block, pan).toString('hex').toUpperCase();
  return { pinBlock, ksn, format: 0 };
}

function createPinTranslation(
  { settings, link: { organizationId } }: Options,
  hsm: Hsm,
  connection: () => AcquirerConnection,
) {
  return async ({ pin, number: pan }: PlanCard) => {
    const zoneKey = connection().getZonePinKey?.();
    if (pin === undefined || zoneKey === undefined)
      throw new Error('the step needs the PIN of the card and the zone PIN key of the link');
    const {
      pinBlock,
      ksn,
      format: inFormat,
    } = typeof pin === 'string' ? encryptTestPin(settings, pin, pan) : pin;
    const { pinBlock: block, outFormat: format } = await hsm.translatePin({
      organizationId,
      scheme: readKsn(ksn).scheme,
      ksn,
      inFormat,
      pinBlock,
      pan,
      outKeyRef: zoneKey.keyRef,
      outFormat: zoneKey.format,
    });
    return { block, format, ...defined({ keyIndex: zoneKey.keyIndex }) };
  };
}

/** The keys, the certificate and the host table that the link names. */
async function loadResources(
  { settings, database, link }: Pick<Options, 'settings' | 'database' | 'link'>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
) {
  const { dialect } = link.settings;
  const hostTables = createHostTables({
    directory: settings.dialectsDir ?? join(settings.dataDir, 'dialects'),
    clock,
    log,
  });
  const host = hostTables.find(dialect)?.host;
  if (host === undefined)
    return fail('usage', `The host table ${dialect} of the link is missing or invalid.`);
  const hsm = createHsm({
    settings,
    log,
    metrics: createMetrics({ processMetrics: false }),
    clock,
  });
  await hsm.start();
  const zoneKeys = createZoneKeys({ database, clock, log, hsm });
  await zoneKeys.reload();
  const clientCertificates = createClientCertificates({
    directory: settings.acquirerCertificatesDir ?? join(settings.dataDir, 'acquirer-certificates'),
    log,
  });
  return { host, hsm, hostTables, zoneKeys, clientCertificates };
}

const toMs = (seconds: number | undefined) =>
  seconds === undefined ? undefined : seconds * msPerSecond;

/**
 * The link has one connection of its own, beside those of a running platform.
 *
 * @throws Error if a key, the certificate or the host table of the link cannot be used
 */
export async function openCertificationLink(options: Options) {
  const { settings, link, plan } = options;
  const clock = systemClock;
  // Cases cause faults on purpose: the report has them.
  const log = createLog({ logLevel: 'silent', instanceName: 'certify' });
  const resources = await loadResources(options, { clock, log });
  const { host, hsm } = resources;
  const messages = createMessageLog(host.table, clock.now);
  const ports = {
    timeoutMs: toMs(plan.timeoutSeconds) ?? settings.acquirerTimeoutMs,
    clock,
    log,
    addressGuard: createAddressGuard(acquirerLinkRules(settings)),
    onLateResponse() {},
    onFrame: messages.add,
    ...defined({ echoIntervalMs: toMs(plan.echoIntervalSeconds) }),
  };
  const ownLink = { ...link, settings: { ...link.settings, connections: 1 } };
  const connect = () => connectAcquirer(ownLink, resources, ports);
  let connection: AcquirerConnection;
  try {
    connection = connect();
  } catch (error) {
    await hsm.close();
    throw error;
  }

  return {
    host,
    messages,
    connection: () => connection,
    translatePin: createPinTranslation(options, hsm, () => connection),
    async reconnect(): Promise<void> {
      await connection.close();
      connection = connect();
    },
    /** Returns false if the link is not signed on in time. */
    async waitUntilAvailable(stopping: AbortSignal): Promise<boolean> {
      const end = performance.now() + availableWithinMs;
      while (!connection.isAvailable() && performance.now() < end)
        await wait(pollMs, undefined, { signal: stopping });
      return connection.isAvailable();
    },
    findFault: () => connection.getConnections?.().lastFault ?? 'no connection yet',
    async close(): Promise<void> {
      await connection.close();
      await hsm.close();
    },
  };
}
