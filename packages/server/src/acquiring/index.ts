// The public interface of the acquiring module: allocates references, sends messages, reports link states.
import type { Clock, Database, Log, Metrics } from '../platform/index.ts';
import type { Hsm } from '../vault/index.ts';
import type { LinkSigners } from './http-json/connect-http-json.ts';
import type { Hosts } from './iso8583-host/host-tables.ts';
import { messageTypeOf } from './iso8583-host/iso8583-messages.ts';
import type { ClientCertificates } from './keys/client-certificate-store.ts';
import { createLinkKeys } from './keys/zone-key-exchange.ts';
import { createLinkInspections } from './links/link-configuration-checks.ts';
import { inspectLink, type LinkNames } from './links/link-configuration-errors.ts';
import { createLinks, type OpenLink } from './links/link-registry.ts';
import { createUnknownCodes } from './links/unknown-response-codes.ts';
import { createReferences, type TerminalRange } from './numbering/reference-allocator.ts';
import type {
  AcquirerLink,
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  LateAnswer,
  ZonePinKey,
} from './spi/acquirer-spi.ts';
import type { LinkFault } from './spi/invalid-link-setting.ts';

export {
  AcknowledgementFault,
  type ClearingAcknowledgement,
  type ClearingLine,
  numberTaken,
} from './clearing/clearing-format.ts';
export { referenceClearing } from './clearing/reference-clearing-format.ts';
export { createLinkSigners, type LinkSigners } from './http-json/connect-http-json.ts';
export { createHosts, type Hosts } from './iso8583-host/host-tables.ts';
export {
  type ClientCertificates,
  createClientCertificates,
} from './keys/client-certificate-store.ts';
export type { LinkNames } from './links/link-configuration-errors.ts';
export type { OpenLink } from './links/link-registry.ts';
export type {
  AcquirerLink,
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  AcquirerReversalReason,
  EntryMode,
  LateAnswer,
  ZonePinKey,
} from './spi/acquirer-spi.ts';
export { isDuplicate, isUndecided, mayBeBooked } from './spi/ambiguous-response.ts';
export type { LinkFault } from './spi/invalid-link-setting.ts';

export type LinkAvailability = { name: string; available: boolean };

export type Acquiring = {
  /** Opens the configured links and refreshes them periodically. */
  start(): Promise<void>;
  /** Opens new links, replaces changed links and closes removed links. */
  openLinks(): Promise<void>;
  available(linkId: string): boolean;
  availability(organizationId: string): LinkAvailability[];
  /** Lists the settings that are certainly invalid. A setting that cannot be checked now is not listed. */
  inspect(organizationId: string, names: LinkNames): Promise<readonly LinkFault[]>;
  /** Lists the open and the failed links of an organisation. */
  openOf(organizationId: string): OpenLink[];
  /** Returns the zone PIN key of a link, or undefined if the link accepts no online PIN. */
  zonePinKey(linkId: string): ZonePinKey | undefined;
  nextReference(request: {
    organizationId: string;
    contractId: string;
    /** The logical device, or the contract for a sale without one. */
    holderId: string;
    /** Required only for the first message of a device or contract. */
    range?: TerminalRange;
    kind: AcquirerRequestKind;
    timeZone: string;
    /** Epoch ms of an earlier event, such as an offline sale. */
    doneAt?: number;
  }): Promise<AcquirerReference>;
  send(request: AcquirerRequest, onSent?: () => void): Promise<AcquirerOutcome>;
  close(): Promise<void>;
};

type Deps = {
  hosts: Hosts;
  certificates: ClientCertificates;
  /** Without an HSM, links have no MAC and no online PIN. */
  hsm?: Hsm | undefined;
  /** Without signers, `http-json` links cannot be opened. */
  signers?: LinkSigners | undefined;
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  timeoutMs: number;
  loadLinks: (also: readonly string[]) => Promise<AcquirerLink[]>;
  /** Links with pending captures, reversals or other messages. */
  unfinishedLinks: () => Promise<string[]>;
  onLateAnswer: (late: LateAnswer) => void;
};

const lookForLinksEveryMs = 10_000;

/** @example const acquiring = createAcquiring({ hosts, certificates, hsm, database, clock, log, metrics, timeoutMs, loadLinks, onLateAnswer }); */
export function createAcquiring(deps: Deps): Acquiring {
  const references = createReferences({ database: deps.database, clock: deps.clock });
  const { database, clock, log, hsm } = deps;
  const inspect = (organizationId: string, names: LinkNames) =>
    inspectLink(deps, organizationId, names);
  const links = createLinks({
    ...deps,
    keys: createLinkKeys({ database, clock, log, hsm }),
    inspections: createLinkInspections({ inspect, clock, log }),
  });
  const seconds = deps.metrics.histogram({
    name: 'switchyard_acquirer_response_duration_seconds',
    help: 'Time from sending a request to the outcome',
    labelNames: ['kind', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
  });
  const unknownCodes = createUnknownCodes({ metrics: deps.metrics, log });
  const known = new Map<string, ReturnType<typeof seconds.labels>>();
  let timer: NodeJS.Timeout | undefined;

  // Caches the labelled series: prom-client sorts and joins the labels at each call.
  function observe(kind: AcquirerRequestKind, outcome: string, elapsed: number): void {
    const name = `${kind} ${outcome}`;
    let series = known.get(name);
    if (series === undefined) {
      series = seconds.labels({ kind, outcome });
      known.set(name, series);
    }
    series.observe(elapsed);
  }

  return {
    async start() {
      await links.look();
      timer = setInterval(() => {
        links
          .look()
          .catch((error: unknown) => deps.log.warn({ err: error }, 'links could not be refreshed'));
      }, lookForLinksEveryMs);
      timer.unref();
    },
    openLinks: links.look,
    available: (linkId) => links.connection(linkId)?.available() ?? false,
    availability: links.availability,
    inspect: async (organizationId, names) => (await inspect(organizationId, names)).faults,
    openOf: links.open,
    zonePinKey: (linkId) => links.connection(linkId)?.zonePinKey?.(),
    nextReference: ({ kind, ...request }) =>
      references.next({ ...request, mti: messageTypeOf(kind) }),
    async send(request, onSent) {
      const connection = links.connection(request.linkId);
      if (connection === undefined) return { outcome: 'NotSent', reason: 'unknown link' };
      const startedAt = deps.clock.now();
      const outcome = await connection.send(request, onSent);
      const elapsed = (deps.clock.now() - startedAt) / 1000;
      observe(request.kind, outcome.outcome, elapsed);
      unknownCodes.note(request.linkId, outcome);
      return outcome;
    },
    async close() {
      clearInterval(timer);
      await links.close();
    },
  };
}
