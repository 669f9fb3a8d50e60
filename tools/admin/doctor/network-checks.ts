// Checks what the platform connects to: names in the DNS, mail server, NATS, HSM, trace collector and acquirers.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { defined } from '@switchyard/contract';
import { openNodes } from '../../../packages/server/src/connector/index.ts';
import {
  type Clock,
  checkMailServer,
  createLog,
  createMetrics,
  type Database,
  pause,
  type Settings,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import { parseDatabaseUrl } from '../../../packages/server/src/platform/settings/database-url.ts';
import { createHsm } from '../../../packages/server/src/vault/index.ts';
import {
  attention,
  type Check,
  type CheckResult,
  describeError,
  ok,
  orOk,
  skipped,
} from './check.ts';
import type { UsableSettings } from './settings-checks.ts';

export type AcquirerLink = {
  readonly linkId: string;
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly approval: string;
};

const connectLimitMs = 5_000;
const pollMs = 50;
const maxLinks = 100;

export const readAcquirerLinks = (database: Pick<Database, 'query'>) =>
  database.query<AcquirerLink>(
    `SELECT acquirer_link_id AS "linkId", name, host, port, approval FROM acquirer_links
     WHERE removed_at IS NULL AND status = 'Enabled' ORDER BY name LIMIT ${maxLinks}`,
  );

const hostOf = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '');

function configuredHosts(settings: Settings, links: readonly AcquirerLink[]): [string, string][] {
  const { databaseUrl, smtpUrl, natsUrl, portalDomain, hsmAddresses = [] } = settings;
  const urls = {
    BASE_URL: settings.baseUrl,
    AUTH_URL: settings.authUrl,
    DEVICE_AUTH_URL: settings.deviceAuthUrl,
    CONNECTOR_NODE_URL: settings.connectorNodeUrl,
    ...defined({
      SMTP_URL: smtpUrl,
      VAULT_KMS_URL: settings.vaultKmsUrl,
      HSM_AWS_DATA_URL: settings.hsmAwsDataUrl,
      HSM_AWS_CONTROL_URL: settings.hsmAwsControlUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: settings.otlpEndpoint,
    }),
  };
  const databaseHosts = databaseUrl === undefined ? [] : parseDatabaseUrl(databaseUrl).hosts;
  return [
    ...Object.entries(urls).map(([name, url]): [string, string] => [name, hostOf(url)]),
    ...databaseHosts
      .filter(({ host }) => host !== '' && !host.startsWith('/'))
      .map(({ host }): [string, string] => ['DATABASE_URL', host]),
    ...(natsUrl?.split(',') ?? []).map((url): [string, string] => ['NATS_URL', hostOf(url.trim())]),
    ...hsmAddresses.map(({ host }): [string, string] => ['HSM_ADDRESSES', host]),
    // The domain itself needs no address, but each portal does.
    ...(portalDomain === undefined
      ? []
      : [['PORTAL_DOMAIN', `portal.${portalDomain}`] as [string, string]]),
    ...links.map(({ name, host }): [string, string] => [`acquirer link ${name}`, host]),
  ];
}

async function checkNames(hosts: readonly [string, string][]): Promise<readonly CheckResult[]> {
  const names = new Map(hosts.map(([setting, host]) => [host, setting]));
  const results = await Promise.all(
    [...names].map(([host, setting]) =>
      lookup(host).then(
        () => [],
        ({ code }: NodeJS.ErrnoException) => [
          attention(
            `${setting}: the name ${host} has no address (${code})`,
            'Correct the name, or the DNS that this machine uses.',
          ),
        ],
      ),
    ),
  );
  return orOk(results.flat(), `${names.size} names have an address`);
}

/** Only processes with `jobs` send mail; a firewall may keep the others from the mail server. */
async function checkMail({ settings, hasRole }: UsableSettings): Promise<readonly CheckResult[]> {
  const { smtpUrl, mailTimeoutMs } = settings;
  if (!hasRole('jobs')) return [skipped('this process has no role jobs')];
  if (smtpUrl === undefined) return [skipped('SWITCHYARD_SMTP_URL is not set')];
  try {
    await checkMailServer({ smtpUrl, mailTimeoutMs: Math.min(mailTimeoutMs, connectLimitMs) });
    return [ok('the mail server accepts the connection')];
  } catch (error) {
    return [
      attention(
        describeError(error).replace('accept the mail', 'accept the connection'),
        'Check SWITCHYARD_SMTP_URL, its user and password, and the network.',
      ),
    ];
  }
}

async function checkNats(settings: Settings, clock: Clock): Promise<readonly CheckResult[]> {
  const parts = { log: createLog({ logLevel: 'silent', instanceName: 'doctor' }), clock };
  const metrics = createMetrics({ processMetrics: false });
  const nodes = openNodes({ settings, ...parts, metrics, ids: systemIdGenerator });
  if (nodes === undefined) return [skipped('SWITCHYARD_NATS_URL is not set')];
  try {
    for (const end = clock.now() + connectLimitMs; clock.now() < end; await pause(pollMs))
      if (nodes.isUp()) return [ok('NATS accepts the connection')];
    return [
      attention(
        'NATS does not accept a connection',
        'Check SWITCHYARD_NATS_URL, the credentials, the certificates, and that the server runs.',
      ),
    ];
  } finally {
    await nodes.backplane.close();
  }
}

async function checkHsm(settings: Settings, clock: Clock): Promise<readonly CheckResult[]> {
  if (!settings.roles.has('cards')) return [skipped('no role cards, or a fault in its settings')];
  if (settings.hsm === 'none') return [skipped('SWITCHYARD_HSM is none')];
  const log = createLog({ logLevel: 'silent', instanceName: 'doctor' });
  const hsm = createHsm({
    settings,
    log,
    clock,
    metrics: createMetrics({ processMetrics: false }),
  });
  const advice = 'Check the SWITCHYARD_HSM settings, the network, and the HSM itself.';
  try {
    await hsm.start();
    const health = await hsm.health();
    if (health === 'up') return [ok(`the HSM (${settings.hsm}) answers`)];
    return [attention(`the HSM (${settings.hsm}) is ${health}`, advice)];
  } catch (error) {
    return [attention(`the HSM (${settings.hsm}): ${describeError(error)}`, advice)];
  } finally {
    await hsm.close();
  }
}

/** The address of the monitoring listener of a process on this machine. */
export function monitoringUrl({ metricsHost, metricsPort }: Settings): string {
  const host = ['0.0.0.0', '::'].includes(metricsHost) ? '127.0.0.1' : metricsHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${metricsPort}`;
}

export async function fetchMonitoring(
  settings: Settings,
  path: string,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(connectLimitMs);
  return fetch(`${monitoringUrl(settings)}${path}`, { signal }).then(
    (response) => response.text(),
    () => undefined,
  );
}

type Ready = {
  readonly links?: readonly { readonly linkId: string; readonly available: boolean }[];
};

/** The state of the links in the process of this machine; undefined if none with the role `cards` runs. */
async function fetchLinkStates(
  settings: Settings,
): Promise<ReadonlyMap<string, boolean> | undefined> {
  const text = await fetchMonitoring(settings, '/readyz');
  if (text === undefined || !text.startsWith('{')) return undefined;
  const { links } = JSON.parse(text) as Ready;
  return links && new Map(links.map(({ linkId, available }) => [linkId, available]));
}

async function canConnect({
  host,
  port,
}: Pick<AcquirerLink, 'host' | 'port'>): Promise<true | string> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectLimitMs) });
    return true;
  } catch (error) {
    return describeError(error);
  } finally {
    socket.destroy();
  }
}

async function checkLink(
  link: AcquirerLink,
  { hasRole }: UsableSettings,
  states: ReadonlyMap<string, boolean> | undefined,
) {
  const { linkId, name, host, port, approval } = link;
  if (approval !== 'Approved')
    return attention(
      `${name}: the link waits for the approval of the operator`,
      'Approve it in the portal or by the API.',
    );
  if (!hasRole('cards')) return skipped(`${name}: this process has no role cards`);
  const isAvailable = states?.get(linkId);
  if (isAvailable === true) return ok(`${name}: available`);
  const result = await canConnect(link);
  if (result === true && isAvailable === undefined)
    return ok(`${name}: ${host}:${port} accepts connections`);
  return attention(
    result === true
      ? `${name}: ${host}:${port} accepts connections, but the link is not available`
      : `${name}: ${host}:${port} is not reachable (${result})`,
    'Check host, port and certificate of the link, SWITCHYARD_ALLOWED_ADDRESSES for a private address, and ask the acquirer.',
  );
}

async function checkLinks(usable: UsableSettings, links: readonly AcquirerLink[] | undefined) {
  if (links === undefined) return [skipped('the database is not available')];
  if (links.length === 0) return [skipped('no acquirer link is enabled')];
  const states = await fetchLinkStates(usable.settings);
  return Promise.all(links.map((link) => checkLink(link, usable, states)));
}

const defaultPorts: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80 };

async function checkTraceCollector({ otlpEndpoint }: Settings): Promise<readonly CheckResult[]> {
  if (otlpEndpoint === undefined) return [skipped('OTEL_EXPORTER_OTLP_ENDPOINT is not set')];
  const { protocol, port } = new URL(otlpEndpoint);
  const result = await canConnect({
    host: hostOf(otlpEndpoint),
    port: Number(port) || (defaultPorts[protocol] ?? 0),
  });
  if (result === true) return [ok('the trace collector accepts connections')];
  return [
    attention(
      `the trace collector is not reachable (${result})`,
      'Check OTEL_EXPORTER_OTLP_ENDPOINT, the network, and that the collector runs.',
    ),
  ];
}

/** @param links undefined if the database is not available */
export function networkChecks(
  usable: UsableSettings,
  links: readonly AcquirerLink[] | undefined,
  clock: Clock,
): readonly Check[] {
  const { settings } = usable;
  return [
    { name: 'DNS', run: () => checkNames(configuredHosts(settings, links ?? [])) },
    { name: 'mail server', run: () => checkMail(usable) },
    { name: 'NATS', run: () => checkNats(settings, clock) },
    { name: 'HSM', run: () => checkHsm(settings, clock) },
    { name: 'trace collector', run: () => checkTraceCollector(settings) },
    { name: 'acquirer links', run: () => checkLinks(usable, links) },
  ];
}
