// Opens configured acquirer links, replaces changed links and drains removed links.
import { defined } from '@switchyard/contract';
import { createKeyedQueue, type Metrics, warnBeforeExpiry } from '../../platform/index.ts';
import type { ClientCertificate } from '../keys/load-client-certificates.ts';
import {
  type AcquirerConnection,
  type AcquirerLink,
  type ConnectionPorts,
  type ConnectionStatus,
  InvalidLinkSettingError,
  type LinkConfigurationError,
} from '../spi/acquirer-spi.ts';
import { type CheckedLink, createConfigurationChecker } from './check-link-keys-and-certificate.ts';
import { connectAcquirer, findCertificate, type LinkResources } from './connect-acquirer.ts';

export type LinkHealth = { linkId: string; name: string; available: boolean };

export type LinkStatus = LinkHealth & {
  linkId: string;
  name: string;
  available: boolean;
  isDraining: boolean;
  /** The link cannot send with the changed settings yet. */
  usesPreviousSettings: boolean;
  connections?: ConnectionStatus;
  /** Epoch ms. */
  clientCertificateExpiresAt?: number;
  faults: readonly LinkConfigurationError[];
};

export type LinkRegistryPorts = Omit<ConnectionPorts, 'tlsIdentity' | 'onAvailabilityChange'> & {
  metrics: Metrics;
  /** Loads enabled links, and the given links also if they are disabled or removed. */
  loadLinks: (also: readonly string[]) => Promise<AcquirerLink[]>;
  /** Finds links with pending messages. The query is expensive, so it runs only if needed. */
  findLinksWithPendingWork: () => Promise<string[]>;
};

type OpenConnection = { fingerprint: string; connection: AcquirerConnection };
type LinkEntry = CheckedLink & {
  current?: OpenConnection;
  /** A connection with the changed settings; it becomes current once it is available. */
  next?: OpenConnection;
  openError?: LinkConfigurationError;
};

// Link names are unique only within an organisation, so the metric also has the link id.
const metricLabels = ({ linkId, name }: AcquirerLink) => ({ link: linkId, name });

const isAvailable = (open: OpenConnection | undefined): boolean =>
  open?.connection.isAvailable() ?? false;

export function createLinks(ports: LinkRegistryPorts, resources: LinkResources) {
  const { clock, log } = ports;
  const entries = new Map<string, LinkEntry>();
  const closingConnections = new Set<Promise<void>>();
  const refreshes = createKeyedQueue();
  const scheduleCheck = createConfigurationChecker({ ...resources, clock, log });
  let isClosed = false;
  let needsPendingWorkCheck = true;
  const linkUpGauge = ports.metrics.gauge({
    name: 'switchyard_acquirer_link_up',
    help: '1 if the acquirer link can send messages, otherwise 0',
    labelNames: ['link', 'name'],
  });
  const expiryGauge = ports.metrics.gauge({
    name: 'switchyard_acquirer_link_certificate_expiry_timestamp_seconds',
    help: 'When the client certificate of the acquirer link expires, as a Unix time in seconds',
    labelNames: ['link', 'name'],
  });

  function removeMetrics(link: AcquirerLink): void {
    for (const gauge of [linkUpGauge, expiryGauge]) gauge.remove(metricLabels(link));
  }

  /** Returns undefined for an invalid certificate: opening the link reports the error. */
  function certificateOf(link: AcquirerLink): ClientCertificate | undefined {
    try {
      return findCertificate(resources.clientCertificates, link);
    } catch (error) {
      if (error instanceof InvalidLinkSettingError) return undefined;
      throw error;
    }
  }

  /** Excludes the name, so that a renamed link stays connected. */
  function computeFingerprint(link: AcquirerLink): string {
    const { adapter, settings } = link;
    const dialect = adapter === 'iso8583-host' ? settings.dialect : undefined;
    const tableVersion = dialect && resources.hostTables.find(dialect)?.version;
    return JSON.stringify([adapter, settings, tableVersion, certificateOf(link)?.version]);
  }

  function closeInBackground(open: OpenConnection | undefined): void {
    if (open === undefined) return;
    const closing = open.connection
      .close()
      .catch((error: unknown) => log.warn({ err: error }, 'acquirer link could not be closed'))
      .finally(() => closingConnections.delete(closing));
    closingConnections.add(closing);
  }

  function closeNext(entry: LinkEntry): void {
    closeInBackground(entry.next);
    delete entry.next;
  }

  function activateNext(linkId: string): void {
    const entry = entries.get(linkId);
    if (entry === undefined) return;
    const { current, next } = entry;
    if (next !== undefined && (isAvailable(next) || !isAvailable(current))) {
      entry.current = next;
      delete entry.next;
      closeInBackground(current);
    }
    linkUpGauge.set(metricLabels(entry.link), isAvailable(entry.current) ? 1 : 0);
  }

  // One refresh opens the links of all organisations: an invalid link must not prevent the others.
  function openNext(entry: LinkEntry, fingerprint: string): void {
    const { link } = entry;
    try {
      const connection = connectAcquirer(link, resources, {
        ...ports,
        log: log.child({ link: link.name }),
        onAvailabilityChange: () => activateNext(link.linkId),
      });
      delete entry.openError;
      entry.next = { fingerprint, connection };
      const certificate = certificateOf(link);
      if (certificate !== undefined)
        warnBeforeExpiry(ports, `client certificate of ${link.name}`, certificate.expiresAt);
    } catch (error) {
      log.error({ err: error, link: link.name }, 'acquirer link could not be opened');
      entry.openError =
        error instanceof InvalidLinkSettingError
          ? { pointer: error.pointer, detail: error.message }
          : { pointer: '', detail: 'cannot be opened; see the server log' };
    }
  }

  function applyConfiguration(link: AcquirerLink): void {
    const { linkId } = link;
    const expiresAt = certificateOf(link)?.expiresAt;
    if (expiresAt === undefined) expiryGauge.remove(metricLabels(link));
    else expiryGauge.set(metricLabels(link), expiresAt / 1000);
    const fingerprint = computeFingerprint(link);
    const entry: LinkEntry = entries.get(linkId) ?? { link };
    entries.set(linkId, entry);
    if (entry.link.name !== link.name) removeMetrics(entry.link);
    entry.link = link;
    scheduleCheck(entry, fingerprint);
    const latest = entry.next ?? entry.current;
    if (latest?.fingerprint !== fingerprint) closeNext(entry);
    if (latest?.fingerprint === fingerprint || entry.current?.fingerprint === fingerprint)
      delete entry.openError;
    else openNext(entry, fingerprint);
    activateNext(linkId);
  }

  function removeLink(linkId: string, entry: LinkEntry): void {
    entries.delete(linkId);
    delete entry.check;
    removeMetrics(entry.link);
    closeNext(entry);
    closeInBackground(entry.current);
  }

  // A disabled or removed link stays open until its pending messages are complete.
  async function loadRequiredLinks(): Promise<AcquirerLink[]> {
    const enabled = await ports.loadLinks([]);
    const enabledIds = new Set(enabled.map(({ linkId }) => linkId));
    if (!needsPendingWorkCheck && [...entries.keys()].every((linkId) => enabledIds.has(linkId)))
      return enabled;
    const links = await ports.loadLinks(await ports.findLinksWithPendingWork());
    needsPendingWorkCheck = false;
    return links;
  }

  async function refreshOnce(): Promise<void> {
    resources.hostTables.reload();
    await resources.zoneKeys.reload();
    const configured = await loadRequiredLinks();
    if (isClosed) return;
    const requiredIds = new Set(configured.map((link) => link.linkId));
    for (const [linkId, entry] of entries) if (!requiredIds.has(linkId)) removeLink(linkId, entry);
    for (const link of configured) applyConfiguration(link);
  }

  function toLinkStatus({ link, current, next, openError, check }: LinkEntry): LinkStatus {
    const { linkId, name, isDraining = false } = link;
    const openErrors = openError === undefined ? [] : [openError];
    // The error from opening a link takes precedence over a check of the same setting.
    const checkErrors = check?.errors.filter(({ pointer }) => pointer !== openError?.pointer) ?? [];
    const usesPreviousSettings =
      current !== undefined && (next !== undefined || openError !== undefined);
    return {
      linkId,
      name,
      isDraining,
      available: isAvailable(current),
      usesPreviousSettings,
      ...defined({
        connections: (usesPreviousSettings ? next : current)?.connection.getConnections?.(),
        clientCertificateExpiresAt: certificateOf(link)?.expiresAt,
      }),
      faults: [...openErrors, ...checkErrors],
    };
  }

  return {
    /** Refreshes run one at a time: an older configuration must not overwrite a newer one. */
    refresh: (): Promise<void> => refreshes.run('refresh', refreshOnce),
    getConnection(linkId: string): AcquirerConnection | undefined {
      const connection = entries.get(linkId)?.current?.connection;
      // The link may have been closed too early: the next refresh checks for pending messages.
      if (connection === undefined) needsPendingWorkCheck = true;
      return connection;
    },
    listHealth: (): LinkHealth[] =>
      [...entries.values()].map(({ link: { linkId, name }, current }) => ({
        linkId,
        name,
        available: isAvailable(current),
      })),
    listLinks: (organizationId: string): LinkStatus[] =>
      [...entries.values()]
        .filter(({ link }) => link.organizationId === organizationId)
        .map(toLinkStatus),
    /** Drains and closes all links, including replaced ones. */
    async close(): Promise<void> {
      isClosed = true;
      for (const [linkId, entry] of entries) removeLink(linkId, entry);
      await Promise.all(closingConnections);
    },
  };
}
