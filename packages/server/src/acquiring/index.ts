// The door to the acquirers: numbers messages, sends them, and says which links can be reached.
import type { Clock, Database, Log, Metrics } from '../platform/index.ts';
import { messageTypeOf } from './iso8583-host/messages.ts';
import { createLinks } from './links.ts';
import { createReferences, type TerminalRange } from './references.ts';
import type {
  AcquirerLink,
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  LateAnswer,
} from './types.ts';

export type {
  AcquirerLink,
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
  AcquirerRequestKind,
  EntryMode,
  LateAnswer,
} from './types.ts';

export type LinkAvailability = { name: string; available: boolean };

export type Acquiring = {
  /** Opens the links that are configured, and looks again for new ones from time to time. */
  start(): Promise<void>;
  /** Opens new links, replaces changed ones and closes those that are gone, now. */
  openLinks(): Promise<void>;
  available(linkId: string): boolean;
  availability(organizationId: string): LinkAvailability[];
  nextReference(request: {
    organizationId: string;
    contractId: string;
    /** The logical device, or the contract for a sale without one. */
    holderId: string;
    /** Needed for a holder's first message only. */
    range?: TerminalRange;
    kind: AcquirerRequestKind;
    timeZone: string;
  }): Promise<AcquirerReference>;
  send(request: AcquirerRequest, onSent?: () => void): Promise<AcquirerOutcome>;
  close(): Promise<void>;
};

type Deps = {
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  timeoutMs: number;
  loadLinks: (also: readonly string[]) => Promise<AcquirerLink[]>;
  /** The links that something is left to finish on. */
  unfinishedLinks: () => Promise<string[]>;
  onLateAnswer: (late: LateAnswer) => void;
};

const lookForLinksEveryMs = 10_000;

/** @example const acquiring = createAcquiring({ database, clock, log, metrics, timeoutMs, loadLinks, onLateAnswer }); */
export function createAcquiring(deps: Deps): Acquiring {
  const references = createReferences({ database: deps.database, clock: deps.clock });
  const links = createLinks(deps);
  const seconds = deps.metrics.histogram({
    name: 'switchyard_acquirer_seconds',
    help: 'Time that acquirers take to answer',
    labelNames: ['kind', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
  });
  const known = new Map<string, ReturnType<typeof seconds.labels>>();
  let timer: NodeJS.Timeout | undefined;

  // Looked up by one text: the package would sort and join the labels for each message.
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
        links.look().catch((error: unknown) => deps.log.warn({ err: error }, 'links not read'));
      }, lookForLinksEveryMs);
      timer.unref();
    },
    openLinks: links.look,
    available: (linkId) => links.connection(linkId)?.available() ?? false,
    availability: links.availability,
    nextReference: ({ kind, ...request }) =>
      references.next({ ...request, mti: messageTypeOf(kind) }),
    async send(request, onSent) {
      const connection = links.connection(request.linkId);
      if (connection === undefined) return { outcome: 'NotSent', reason: 'unknown link' };
      const startedAt = deps.clock.now();
      const outcome = await connection.send(request, onSent);
      const elapsed = (deps.clock.now() - startedAt) / 1000;
      observe(request.kind, outcome.outcome, elapsed);
      return outcome;
    },
    async close() {
      clearInterval(timer);
      await links.close();
    },
  };
}
