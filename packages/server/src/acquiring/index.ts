// The public interface of the acquiring module: allocates references, sends messages, reports link states.
import type { Clock, Database, Log, Metrics } from '../platform/index.ts';
import type { Hsm } from '../vault/index.ts';
import type { RequestSigners } from './http-json/connect-http-json.ts';
import type { HostTables } from './iso8583-host/host-tables.ts';
import { mtiOf } from './iso8583-host/iso8583-messages.ts';
import type { ClientCertificates } from './keys/client-certificate-store.ts';
import { createZoneKeys } from './keys/zone-key-exchange.ts';
import { createLinkConfigurationChecks } from './links/link-configuration-checks.ts';
import {
  checkLinkConfiguration,
  type LinkDependencies,
} from './links/link-configuration-errors.ts';
import { createLinks, type LinkStatus } from './links/link-registry.ts';
import { createUnknownCodeCounter } from './links/unknown-response-codes.ts';
import { createReferenceAllocator, type TerminalRange } from './numbering/reference-allocator.ts';
import type {
  AcquirerLink,
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  LateResponse,
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
export { createRequestSigners, type RequestSigners } from './http-json/connect-http-json.ts';
export {
  createHostTables,
  type HostTables,
} from './iso8583-host/host-tables.ts';
export {
  type ClientCertificates,
  createClientCertificates,
} from './keys/client-certificate-store.ts';
export type { LinkDependencies } from './links/link-configuration-errors.ts';
export type { LinkStatus } from './links/link-registry.ts';
export type {
  AcquirerLink,
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  AcquirerReversalReason,
  EntryMode,
  LateResponse,
  ZonePinKey,
} from './spi/acquirer-spi.ts';
export {
  isAmbiguousDecline,
  isDuplicateDecline,
  isIndeterminate,
} from './spi/ambiguous-response.ts';
export type { LinkConfigurationError } from './spi/invalid-link-setting.ts';

export type LinkAvailability = { name: string; available: boolean };

export type Acquiring = {
  /** Opens the configured links and refreshes them periodically. */
  start(): Promise<void>;
  /** Opens new links, replaces changed links and closes removed links. */
  refreshLinks(): Promise<void>;
  isLinkAvailable(linkId: string): boolean;
  listLinkAvailability(organizationId: string): LinkAvailability[];
  /** Lists the settings that are certainly invalid. A setting that cannot be checked now is not listed. */
  checkLinkConfiguration(
    organizationId: string,
    dependencies: LinkDependencies,
  ): Promise<readonly LinkConfigurationError[]>;
  /** Lists the open and the failed links of an organisation. */
  listLinks(organizationId: string): LinkStatus[];
  /** Returns the zone PIN key of a link, or undefined if the link accepts no online PIN. */
  getZonePinKey(linkId: string): ZonePinKey | undefined;
  allocateReference(request: {
    organizationId: string;
    contractId: string;
    /** The logical device, or the contract for a sale without one. */
    terminalOwnerId: string;
    /** Required only for the first message of a device or contract. */
    range?: TerminalRange;
    kind: AcquirerRequestKind;
    timeZone: string;
    /** Epoch ms of an earlier event, such as an offline sale. */
    occurredAt?: number;
  }): Promise<AcquirerReference>;
  send(request: AcquirerRequest, onPossiblySent?: () => void): Promise<AcquirerOutcome>;
  close(): Promise<void>;
};

type Deps = {
  hostTables: HostTables;
  clientCertificates: ClientCertificates;
  /** Without an HSM, links have no MAC and no online PIN. */
  hsm?: Hsm | undefined;
  /** Without signers, `http-json` links cannot be opened. */
  requestSigners?: RequestSigners | undefined;
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  timeoutMs: number;
  loadLinks: (also: readonly string[]) => Promise<AcquirerLink[]>;
  /** Links with pending captures, reversals or other messages. */
  findLinksWithPendingWork: () => Promise<string[]>;
  onLateResponse: (late: LateResponse) => void;
};

const linkRefreshIntervalMs = 10_000;

/** @example const acquiring = createAcquiring({ hosts, certificates, hsm, database, clock, log, metrics, timeoutMs, loadLinks, onLateAnswer }); */
export function createAcquiring(deps: Deps): Acquiring {
  const referenceAllocator = createReferenceAllocator({
    database: deps.database,
    clock: deps.clock,
  });
  const { database, clock, log, hsm } = deps;
  const checkConfiguration = (organizationId: string, dependencies: LinkDependencies) =>
    checkLinkConfiguration(deps, organizationId, dependencies);
  const linkRegistry = createLinks({
    ...deps,
    zoneKeys: createZoneKeys({ database, clock, log, hsm }),
    configurationChecks: createLinkConfigurationChecks({ inspect: checkConfiguration, clock, log }),
  });
  const responseDuration = deps.metrics.histogram({
    name: 'switchyard_acquirer_response_duration_seconds',
    help: 'Time from sending a request to the outcome',
    labelNames: ['kind', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
  });
  const unknownCodeCounter = createUnknownCodeCounter({ metrics: deps.metrics, log });
  const durationSeries = new Map<string, ReturnType<typeof responseDuration.labels>>();
  let refreshTimer: NodeJS.Timeout | undefined;

  // Caches the labelled series: prom-client sorts and joins the labels at each call.
  function observeDuration(
    kind: AcquirerRequestKind,
    outcome: string,
    elapsedSeconds: number,
  ): void {
    const name = `${kind} ${outcome}`;
    let series = durationSeries.get(name);
    if (series === undefined) {
      series = responseDuration.labels({ kind, outcome });
      durationSeries.set(name, series);
    }
    series.observe(elapsedSeconds);
  }

  return {
    async start() {
      await linkRegistry.refresh();
      refreshTimer = setInterval(() => {
        linkRegistry
          .refresh()
          .catch((error: unknown) => deps.log.warn({ err: error }, 'links could not be refreshed'));
      }, linkRefreshIntervalMs);
      refreshTimer.unref();
    },
    refreshLinks: linkRegistry.refresh,
    isLinkAvailable: (linkId) => linkRegistry.getConnection(linkId)?.isAvailable() ?? false,
    listLinkAvailability: linkRegistry.listAvailability,
    checkLinkConfiguration: async (organizationId, dependencies) =>
      (await checkConfiguration(organizationId, dependencies)).errors,
    listLinks: linkRegistry.listLinks,
    getZonePinKey: (linkId) => linkRegistry.getConnection(linkId)?.getZonePinKey?.(),
    allocateReference: ({ kind, ...request }) =>
      referenceAllocator.allocate({ ...request, mti: mtiOf(kind) }),
    async send(request, onPossiblySent) {
      const connection = linkRegistry.getConnection(request.linkId);
      if (connection === undefined) return { outcome: 'NotSent', reason: 'unknown link' };
      const startedAt = deps.clock.now();
      const outcome = await connection.send(request, onPossiblySent);
      const elapsed = (deps.clock.now() - startedAt) / 1000;
      observeDuration(request.kind, outcome.outcome, elapsed);
      unknownCodeCounter.countOutcome(request.linkId, outcome);
      return outcome;
    },
    async close() {
      clearInterval(refreshTimer);
      await linkRegistry.close();
    },
  };
}
