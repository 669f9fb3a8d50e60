// The public interface of the acquiring module: allocates references, sends messages, reports link states.
import { responseCodeFacts } from '@switchyard/contract';
import type { Database } from '../platform/index.ts';
import { createZoneKeys } from './keys/import-zone-keys.ts';
import {
  checkLinkConfiguration,
  type LinkDependencies,
} from './links/check-link-keys-and-certificate.ts';
import type { LinkResources } from './links/connect-acquirer.ts';
import {
  createLinks,
  type LinkAvailability,
  type LinkHealth,
  type LinkRegistryPorts,
  type LinkStatus,
} from './links/link-lifecycle.ts';
import {
  createReferenceAllocator,
  type ReferenceAllocator,
} from './numbering/reference-allocator.ts';
import type {
  AcquirerOutcome,
  AcquirerRequest,
  AcquirerRequestKind,
  ZonePinKey,
} from './spi/acquirer-spi.ts';
import type { LinkConfigurationError } from './spi/invalid-link-setting.ts';

export {
  AcknowledgementFormatError,
  type ClearingAcknowledgement,
  type ClearingLine,
  duplicateSequenceReason,
} from './clearing/clearing-format.ts';
export { referenceClearingFormat } from './clearing/reference-clearing-format.ts';
export { createRequestSigners } from './http-json/http-message-signatures.ts';
export { createHostTables, type HostTables } from './iso8583-host/load-dialect-tables.ts';
export { createClientCertificates } from './keys/load-client-certificates.ts';
export type {
  AcquirerLink,
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  AcquirerReversalReason,
  EntryMode,
  LateResponse,
} from './spi/acquirer-spi.ts';
export {
  isAmbiguousDecline,
  isDuplicateDecline,
  isIndeterminate,
} from './spi/ambiguous-decline.ts';

export type Acquiring = {
  /** Opens the configured links and refreshes them periodically. */
  start(): Promise<void>;
  /** Opens new links, replaces changed links and closes removed links. */
  refreshLinks(): Promise<void>;
  isLinkAvailable(linkId: string): boolean;
  listLinkAvailability(organizationId: string): LinkAvailability[];
  /** Lists the links of all organisations, for the operator. */
  listLinkHealth(): LinkHealth[];
  /** Lists the settings that are certainly invalid. A setting that cannot be checked now is not listed. */
  checkLinkConfiguration(
    organizationId: string,
    dependencies: LinkDependencies,
  ): Promise<readonly LinkConfigurationError[]>;
  listLinks(organizationId: string): LinkStatus[];
  /** Returns undefined if the link accepts no online PIN. */
  getZonePinKey(linkId: string): ZonePinKey | undefined;
  allocateReference: ReferenceAllocator['allocate'];
  send(request: AcquirerRequest, onPossiblySent?: () => void): Promise<AcquirerOutcome>;
  close(): Promise<void>;
};

type Ports = LinkRegistryPorts & Omit<LinkResources, 'zoneKeys'> & { database: Database };

const linkRefreshIntervalMs = 10_000;
/** Each unknown code of a link is logged once, up to this number; the metric counts all. */
const maxLoggedCodes = 200;

/** Measures response times, and counts response codes that the response code table does not contain. */
function createOutcomeMetrics({ metrics, log }: Pick<Ports, 'metrics' | 'log'>) {
  const loggedCodes = new Set<string>();
  const durations = metrics.histogram({
    name: 'switchyard_acquirer_response_duration_seconds',
    help: 'Time from sending a request to the outcome',
    labelNames: ['kind', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
  });
  const unknownCodes = metrics.counter({
    name: 'switchyard_acquirer_unknown_codes_total',
    help: 'Responses with a response code that is not in the table',
    labelNames: ['link'],
  });
  // Caches the labelled series: prom-client sorts and joins the labels at each call.
  const durationSeries = new Map<string, ReturnType<typeof durations.labels>>();

  return {
    observeDuration(kind: AcquirerRequestKind, outcome: string, elapsedSeconds: number): void {
      const name = `${kind} ${outcome}`;
      const series = durationSeries.get(name) ?? durations.labels({ kind, outcome });
      durationSeries.set(name, series);
      series.observe(elapsedSeconds);
    },
    countUnknownCode(linkId: string, outcome: AcquirerOutcome): void {
      if (outcome.outcome !== 'Declined') return;
      const { responseCode } = outcome;
      if (responseCodeFacts(responseCode).known) return;
      unknownCodes.inc({ link: linkId });
      const codeKey = `${linkId} ${responseCode}`;
      if (loggedCodes.has(codeKey) || loggedCodes.size >= maxLoggedCodes) return;
      loggedCodes.add(codeKey);
      log.error(
        { linkId, responseCode },
        'acquirer responded with an unknown response code; add it to the dialect table',
      );
    },
  };
}

export function createAcquiring(ports: Ports): Acquiring {
  const { clock, log } = ports;
  const resources = { ...ports, zoneKeys: createZoneKeys(ports) };
  const linkRegistry = createLinks(ports, resources);
  const { observeDuration, countUnknownCode } = createOutcomeMetrics(ports);
  let refreshTimer: NodeJS.Timeout | undefined;

  return {
    async start() {
      await linkRegistry.refresh();
      refreshTimer = setInterval(() => {
        linkRegistry
          .refresh()
          .catch((error: unknown) => log.warn({ err: error }, 'links could not be refreshed'));
      }, linkRefreshIntervalMs);
      refreshTimer.unref();
    },
    refreshLinks: linkRegistry.refresh,
    isLinkAvailable: (linkId) => linkRegistry.getConnection(linkId)?.isAvailable() ?? false,
    listLinkAvailability: linkRegistry.listAvailability,
    listLinkHealth: linkRegistry.listHealth,
    checkLinkConfiguration: async (organizationId, dependencies) =>
      (await checkLinkConfiguration(ports, organizationId, dependencies)).errors,
    listLinks: linkRegistry.listLinks,
    getZonePinKey: (linkId) => linkRegistry.getConnection(linkId)?.getZonePinKey?.(),
    allocateReference: createReferenceAllocator(ports).allocate,
    async send(request, onPossiblySent) {
      const connection = linkRegistry.getConnection(request.linkId);
      if (connection === undefined) return { outcome: 'NotSent', reason: 'unknown link' };
      const startedAt = clock.now();
      const outcome = await connection.send(request, onPossiblySent);
      observeDuration(request.kind, outcome.outcome, (clock.now() - startedAt) / 1000);
      countUnknownCode(request.linkId, outcome);
      return outcome;
    },
    async close() {
      clearInterval(refreshTimer);
      await linkRegistry.close();
    },
  };
}
