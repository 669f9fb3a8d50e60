// Opens configured acquirer links, replaces changed links and drains removed links.
import { defined } from '@switchyard/contract';
import type { Clock, Log, Metrics } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { RequestSigners } from '../http-json/connect-http-json.ts';
import type { HostTables, LoadedHost } from '../iso8583-host/host-tables.ts';
import type { ClientCertificate, ClientCertificates } from '../keys/client-certificate-store.ts';
import type { ZoneKeys } from '../keys/zone-key-exchange.ts';
import type {
  AcquirerConnection,
  AcquirerLink,
  Iso8583HostLink,
  LateResponse,
} from '../spi/acquirer-spi.ts';
import {
  InvalidLinkSettingError,
  type LinkConfigurationError,
} from '../spi/invalid-link-setting.ts';
import { connectAcquirer } from './connect-acquirer.ts';
import type { LinkConfigurationChecks } from './link-configuration-checks.ts';

export type LinkRegistry = {
  /** Applies the current configuration to the open links. */
  refresh(): Promise<void>;
  getConnection(linkId: string): AcquirerConnection | undefined;
  listAvailability(organizationId: string): { name: string; available: boolean }[];
  /** Lists the open and the failed links of an organisation, with their connections. */
  listLinks(organizationId: string): LinkStatus[];
  /** Drains and closes all links, including replaced ones. */
  close(): Promise<void>;
};

export type LinkStatus = {
  linkId: string;
  name: string;
  available: boolean;
  /** The link is disabled or removed: it accepts no new sales and completes pending ones. */
  isDraining: boolean;
  /** Undefined for adapters without persistent connections. */
  connections?: { wanted: number; signedOn: number };
  /** Epoch ms. */
  clientCertificateExpiresAt?: number;
  /** Settings that are invalid. */
  faults: readonly LinkConfigurationError[];
};

export type LinkRegistryDeps = {
  hostTables: HostTables;
  clientCertificates: ClientCertificates;
  configurationChecks: LinkConfigurationChecks;
  zoneKeys: ZoneKeys;
  requestSigners?: RequestSigners | undefined;
  hsm?: Hsm | undefined;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  timeoutMs: number;
  /** Loads enabled links, and the given links whatever their status. */
  loadLinks: (also: readonly string[]) => Promise<AcquirerLink[]>;
  /** Finds links with pending messages. The query is expensive, so it runs only if needed. */
  findLinksWithPendingWork: () => Promise<string[]>;
  onLateResponse: (late: LateResponse) => void;
};

type ConfiguredConnection = { fingerprint: string; connection: AcquirerConnection };
type LinkEntry = ConfiguredConnection & {
  link: AcquirerLink;
  /** A connection with the changed settings; it becomes current once it is available. */
  replacement?: ConfiguredConnection;
};

const defaultDialect = 'iso1987-binary';

const findHost = (hosts: HostTables, { settings }: Iso8583HostLink): LoadedHost => {
  const name = settings.dialect ?? defaultDialect;
  const loadedTable = hosts.find(name);
  if (loadedTable === undefined) {
    throw new InvalidLinkSettingError('/dialect', `names the unknown dialect ${name}`);
  }
  return loadedTable;
};

/** Returns undefined for an invalid certificate: opening the link reports the error. */
function findCertificate(
  certificates: ClientCertificates,
  { organizationId, settings }: AcquirerLink,
): ClientCertificate | undefined {
  if (settings.clientCertificate === undefined) return undefined;
  try {
    return certificates.find(organizationId, settings.clientCertificate);
  } catch (error) {
    if (error instanceof InvalidLinkSettingError) return undefined;
    throw error;
  }
}

/**
 * The fingerprint covers the settings, the dialect table and the client certificate. It excludes the
 * name, so that a renamed link stays connected.
 */
function computeFingerprint(
  { hostTables: hosts, clientCertificates: certificates }: LinkRegistryDeps,
  link: AcquirerLink,
): string {
  const { adapter, settings } = link;
  const name = link.adapter === 'iso8583-host' ? link.settings.dialect : undefined;
  const tableVersion = name === undefined ? undefined : hosts.find(name)?.version;
  return JSON.stringify([
    adapter,
    settings,
    tableVersion,
    findCertificate(certificates, link)?.version,
  ]);
}

const toConfigurationError = (error: unknown): LinkConfigurationError =>
  error instanceof InvalidLinkSettingError
    ? { pointer: error.pointer, detail: error.message }
    : { pointer: '', detail: 'cannot be opened; see the server log' };

// Link names are unique only within an organisation, so the metric also has the link id.
const metricLabels = ({ linkId, name }: AcquirerLink) => ({ link: linkId, name });

/** @example const links = createLinks({ clock, log, metrics, timeoutMs, loadLinks, onLateAnswer }); */
export function createLinks(deps: LinkRegistryDeps): LinkRegistry {
  const entries = new Map<string, LinkEntry>();
  /** Links that could not be opened with their current settings. */
  const failedLinks = new Map<string, { link: AcquirerLink; fault: LinkConfigurationError }>();
  const closingConnections = new Set<Promise<void>>();
  let lastRefresh: Promise<void> = Promise.resolve();
  let isClosed = false;
  let needsPendingWorkCheck = true;
  const linkUpGauge = deps.metrics.gauge({
    name: 'switchyard_acquirer_link_up',
    help: '1 if the acquirer link can send messages, otherwise 0',
    labelNames: ['link', 'name'],
  });

  function updateGauge({ link, connection }: LinkEntry): void {
    linkUpGauge.set(metricLabels(link), connection.isAvailable() ? 1 : 0);
  }

  function closeInBackground({ connection }: ConfiguredConnection): void {
    const closing = connection
      .close()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'acquirer link could not be closed'))
      .finally(() => closingConnections.delete(closing));
    closingConnections.add(closing);
  }

  function activateReplacement(linkId: string): void {
    const entry = entries.get(linkId);
    if (entry === undefined) return;
    const { replacement: successor, ...currentConnection } = entry;
    const { connection } = currentConnection;
    if (
      successor !== undefined &&
      (successor.connection.isAvailable() || !connection.isAvailable())
    ) {
      Object.assign(entry, successor);
      delete entry.replacement;
      closeInBackground(currentConnection);
    }
    updateGauge(entry);
  }

  // One refresh opens the links of all organisations: an invalid link must not prevent the others.
  function openConnection(
    link: AcquirerLink,
    fingerprint: string,
  ): ConfiguredConnection | undefined {
    try {
      const connection = connectAcquirer({
        link,
        hsm: deps.hsm,
        zoneKeys: deps.zoneKeys,
        requestSigners: deps.requestSigners,
        findCertificate: ({ organizationId }, name) =>
          deps.clientCertificates.find(organizationId, name),
        findHost: (hostLink) => findHost(deps.hostTables, hostLink),
        timeoutMs: deps.timeoutMs,
        clock: deps.clock,
        log: deps.log.child({ link: link.name }),
        onLateResponse: deps.onLateResponse,
        onAvailabilityChange: () => activateReplacement(link.linkId),
      });
      failedLinks.delete(link.linkId);
      return { fingerprint, connection };
    } catch (error) {
      deps.log.error({ err: error, link: link.name }, 'acquirer link could not be opened');
      failedLinks.set(link.linkId, { link, fault: toConfigurationError(error) });
      return undefined;
    }
  }

  function updateLink(entry: LinkEntry, link: AcquirerLink): void {
    if (entry.link.name !== link.name) linkUpGauge.remove(metricLabels(entry.link));
    entry.link = link;
  }

  function applyConfiguration(link: AcquirerLink): void {
    const { linkId } = link;
    const fingerprint = computeFingerprint(deps, link);
    deps.configurationChecks.scheduleCheck(link, fingerprint);
    const entry = entries.get(linkId);
    const latestConnection = entry?.replacement ?? entry;
    if (entry !== undefined) updateLink(entry, link);
    if (latestConnection?.fingerprint === fingerprint) failedLinks.delete(linkId);
    else {
      if (entry?.replacement !== undefined) {
        closeInBackground(entry.replacement);
        delete entry.replacement;
      }
      if (entry?.fingerprint === fingerprint) failedLinks.delete(linkId);
      else {
        const openedConnection = openConnection(link, fingerprint);
        if (openedConnection === undefined) linkUpGauge.set(metricLabels(link), 0);
        else if (entry === undefined) entries.set(linkId, { ...openedConnection, link });
        else entry.replacement = openedConnection;
      }
    }
    activateReplacement(linkId);
  }

  function removeLink(linkId: string, entry: LinkEntry): void {
    entries.delete(linkId);
    linkUpGauge.remove(metricLabels(entry.link));
    if (entry.replacement !== undefined) closeInBackground(entry.replacement);
    closeInBackground(entry);
  }

  // A disabled or removed link stays open until its pending messages are complete.
  async function loadRequiredLinks(): Promise<AcquirerLink[]> {
    const enabled = await deps.loadLinks([]);
    const enabledIds = new Set(enabled.map(({ linkId }) => linkId));
    if (!needsPendingWorkCheck && [...entries.keys()].every((linkId) => enabledIds.has(linkId)))
      return enabled;
    const links = await deps.loadLinks(await deps.findLinksWithPendingWork());
    needsPendingWorkCheck = false;
    return links;
  }

  async function refreshOnce(): Promise<void> {
    deps.hostTables.reload();
    await deps.zoneKeys.reload();
    const configured = await loadRequiredLinks();
    if (isClosed) return;
    const requiredIds = new Set(configured.map((link) => link.linkId));
    for (const [linkId, entry] of entries) if (!requiredIds.has(linkId)) removeLink(linkId, entry);
    for (const [linkId, { link }] of failedLinks) {
      if (requiredIds.has(linkId)) continue;
      failedLinks.delete(linkId);
      linkUpGauge.remove(metricLabels(link));
    }
    deps.configurationChecks.retainOnly(requiredIds);
    for (const link of configured) applyConfiguration(link);
  }

  /** The error from opening a link takes precedence over a check of the same setting. */
  function collectErrors(linkId: string): LinkConfigurationError[] {
    const openError = failedLinks.get(linkId)?.fault;
    const checkErrors = deps.configurationChecks
      .getErrors(linkId)
      .filter(({ pointer }) => pointer !== openError?.pointer);
    return openError === undefined ? checkErrors : [openError, ...checkErrors];
  }

  function toLinkStatus(
    link: AcquirerLink,
    connection: AcquirerConnection | undefined,
  ): LinkStatus {
    const { linkId, name, isDraining = false } = link;
    const expiresAt = findCertificate(deps.clientCertificates, link)?.expiresAt;
    return {
      linkId,
      name,
      isDraining,
      available: connection?.isAvailable() ?? false,
      ...defined({
        connections:
          connection?.getConnectionCounts === undefined
            ? undefined
            : connection.getConnectionCounts(),
        clientCertificateExpiresAt: expiresAt,
      }),
      faults: collectErrors(linkId),
    };
  }

  return {
    // Refreshes run one at a time: an older configuration must not overwrite a newer one.
    refresh() {
      const refresh = lastRefresh.then(refreshOnce);
      lastRefresh = refresh.catch(() => {});
      return refresh;
    },
    getConnection(linkId) {
      const entry = entries.get(linkId);
      // The link may have been closed too early: the next refresh checks for pending messages.
      if (entry === undefined) needsPendingWorkCheck = true;
      return entry?.connection;
    },
    listAvailability: (organizationId) =>
      [...entries.values()]
        .filter(({ link }) => link.organizationId === organizationId)
        .map(({ link, connection }) => ({ name: link.name, available: connection.isAvailable() })),
    listLinks: (organizationId) =>
      [
        ...entries.values(),
        ...[...failedLinks.values()].filter(({ link }) => !entries.has(link.linkId)),
      ]
        .filter(({ link }) => link.organizationId === organizationId)
        .map((entry) =>
          toLinkStatus(entry.link, 'connection' in entry ? entry.connection : undefined),
        ),
    async close() {
      isClosed = true;
      for (const [linkId, entry] of entries) removeLink(linkId, entry);
      await Promise.all(closingConnections);
    },
  };
}
