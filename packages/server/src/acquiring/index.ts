// The public interface of the acquiring module: allocates references, sends messages, reports link states.
import { responseCodeFacts } from '@switchyard/contract';
import {
  type Database,
  endSpan,
  failSpan,
  type Numbering,
  type Span,
  startChildSpan,
} from '../platform/index.ts';
import { createZoneKeys } from './keys/import-zone-keys.ts';
import {
  checkLinkConfiguration,
  type LinkDependencies,
} from './links/check-link-keys-and-certificate.ts';
import type { LinkResources } from './links/connect-acquirer.ts';
import { createLinks, type LinkRegistryPorts } from './links/link-lifecycle.ts';
import { createReferenceAllocator } from './numbering/reference-allocator.ts';
import {
  type AcquirerOutcome,
  type AcquirerRequest,
  type LinkConfigurationError,
  unencodableReason,
  type ZonePinKey,
} from './spi/acquirer-spi.ts';

export {
  AcknowledgementFormatError,
  type ClearingAcknowledgement,
  type ClearingLine,
  duplicateSequenceReason,
  referenceClearingFormat,
} from './clearing/reference-clearing-format.ts';
export { createRequestSigners } from './http-json/signed-exchange.ts';
export { createHostTables, type HostTables } from './iso8583-host/load-dialect-tables.ts';
export {
  isNetworkManagement,
  isRequest,
  isSupportedFunction,
  networkMessage,
} from './iso8583-host/network-management-messages.ts';
export {
  readSubelement,
  toAcquirerOutcome,
  toIso8583Message,
} from './iso8583-host/payment-messages.ts';
export { createZoneKeys } from './keys/import-zone-keys.ts';
export { createClientCertificates } from './keys/load-client-certificates.ts';
export { connectAcquirer } from './links/connect-acquirer.ts';
export { buildReference } from './numbering/message-reference.ts';
export type {
  AcquirerConnection,
  AcquirerData,
  AcquirerLink,
  AcquirerOutcome,
  AcquirerPin,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  AcquirerReversalReason,
  LateResponse,
  TracedFrame,
} from './spi/acquirer-spi.ts';
export {
  isAmbiguousDecline,
  isDuplicateDecline,
  isIndeterminate,
} from './spi/check-outcome.ts';

export type Acquiring = ReturnType<typeof createAcquiring>;

type Ports = LinkRegistryPorts &
  Omit<LinkResources, 'zoneKeys'> & { database: Database; numbering: Numbering };

const linkRefreshIntervalMs = 10_000;
/** Each unknown code of a link is logged once, up to this number; the metric counts all. */
const maxLoggedCodes = 200;

/** Measures response times, and counts response codes that the response code table does not contain. */
function createOutcomeMetrics(
  { metrics, log }: Pick<Ports, 'metrics' | 'log'>,
  listLinks: ReturnType<typeof createLinks>['listHealth'],
) {
  const loggedCodes = new Set<string>();
  const durations = metrics.histogram({
    name: 'switchyard_acquirer_response_duration_seconds',
    help: 'Time from sending a request to the outcome',
    labelNames: ['link', 'kind', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
  });
  const createLinkCounter = (name: string, help: string) =>
    metrics.counter({
      name,
      help,
      labelNames: ['link'],
      collect() {
        // An increase of a series that does not exist yet raises no alarm.
        for (const { linkId } of listLinks()) this.inc({ link: linkId }, 0);
      },
    });
  const unknownCodes = createLinkCounter(
    'switchyard_acquirer_unknown_codes_total',
    'Responses with a response code that is not in the table',
  );
  const unencodableMessages = createLinkCounter(
    'switchyard_acquirer_unencodable_messages_total',
    'Messages that were not sent, because the host table cannot encode them',
  );
  // Caches the labelled series: prom-client sorts and joins the labels at each call.
  const durationSeries = new Map<string, ReturnType<typeof durations.labels>>();

  function countUnknownCode(linkId: string, responseCode: string): void {
    unknownCodes.inc({ link: linkId });
    const codeKey = `${linkId} ${responseCode}`;
    if (loggedCodes.has(codeKey) || loggedCodes.size >= maxLoggedCodes) return;
    loggedCodes.add(codeKey);
    const message = 'acquirer responded with an unknown response code; add it to the host table';
    log.error({ linkId, responseCode }, message);
  }

  return function recordOutcome(
    { kind, linkId }: AcquirerRequest,
    result: AcquirerOutcome,
    elapsedSeconds: number,
  ): void {
    const { outcome } = result;
    const labels = { link: linkId, kind, outcome };
    const name = `${linkId} ${kind} ${outcome}`;
    const series = durationSeries.get(name) ?? durations.labels(labels);
    durationSeries.set(name, series);
    series.observe(elapsedSeconds);
    if (outcome === 'NotSent' && result.reason === unencodableReason)
      unencodableMessages.inc({ link: linkId });
    if (outcome === 'Declined' && !responseCodeFacts(result.responseCode).known)
      countUnknownCode(linkId, result.responseCode);
  };
}

const startExchangeSpan = (parent: Span, { kind, linkId, transactionId }: AcquirerRequest): Span =>
  startChildSpan(parent, `acquirer ${kind}`, 'client', {
    'switchyard.message.kind': kind,
    'switchyard.acquirer_link_id': linkId,
    'switchyard.transaction_id': transactionId,
  });

function endExchangeSpan(span: Span, outcome: AcquirerOutcome): void {
  const attributes = { 'switchyard.outcome': outcome.outcome };
  if ('responseCode' in outcome)
    endSpan(span, { ...attributes, 'switchyard.response_code': outcome.responseCode });
  else failSpan(span, outcome.outcome === 'Unknown' ? outcome.reason : 'NotSent', attributes);
}

export function createAcquiring(ports: Ports) {
  const { clock, log } = ports;
  const links = createLinks(ports, { ...ports, zoneKeys: createZoneKeys(ports) });
  const recordOutcome = createOutcomeMetrics(ports, links.listHealth);
  let refreshTimer: NodeJS.Timeout | undefined;

  return {
    /** Opens the configured links and refreshes them periodically. */
    async start(): Promise<void> {
      await links.refresh();
      const logFailure = (error: unknown) =>
        log.warn({ err: error }, 'links could not be refreshed');
      refreshTimer = setInterval(
        () => void links.refresh().catch(logFailure),
        linkRefreshIntervalMs,
      );
      refreshTimer.unref();
    },
    /** Opens new links, replaces changed links and closes removed links. */
    refreshLinks: links.refresh,
    isLinkAvailable: (linkId: string): boolean =>
      links.getConnection(linkId)?.isAvailable() ?? false,
    /** Lists the links of all organisations, for the operator. */
    listLinkHealth: links.listHealth,
    /** Lists the settings that are certainly invalid. A setting that cannot be checked now is not listed. */
    checkLinkConfiguration: async (
      organizationId: string,
      dependencies: LinkDependencies,
    ): Promise<readonly LinkConfigurationError[]> =>
      (await checkLinkConfiguration(ports, organizationId, dependencies)).errors,
    listLinks: links.listLinks,
    /** Returns undefined if the link accepts no online PIN. */
    getZonePinKey: (linkId: string): ZonePinKey | undefined =>
      links.getConnection(linkId)?.getZonePinKey?.(),
    /** Returns the response code of the host; undefined if it sends none. */
    requestKeys: async (linkId: string): Promise<string | undefined> =>
      links.getConnection(linkId)?.requestKeys?.(),
    allocateReference: createReferenceAllocator({
      ...ports,
      findNumberFormats: (linkId) => links.getConnection(linkId)?.numberFormats,
    }).allocate,
    /** @param parent the span of the sale, the operation or the job */
    async send(
      request: AcquirerRequest,
      onPossiblySent?: () => void,
      parent?: Span,
    ): Promise<AcquirerOutcome> {
      const connection = links.getConnection(request.linkId);
      if (connection === undefined) return { outcome: 'NotSent', reason: 'unknown link' };
      const startedAt = clock.now();
      const span = parent && startExchangeSpan(parent, request);
      const outcome = await connection.send(request, onPossiblySent, span);
      if (span !== undefined) endExchangeSpan(span, outcome);
      recordOutcome(request, outcome, (clock.now() - startedAt) / 1000);
      return outcome;
    },
    async close(): Promise<void> {
      clearInterval(refreshTimer);
      await links.close();
    },
  };
}
