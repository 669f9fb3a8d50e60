// The door to the acquirers: numbers messages, sends them, and says which links can be reached.
import type { Clock, Database, Ids, Log, Metrics } from '../platform/index.ts';
import { adapters } from './adapters.ts';
import { messageTypeOf } from './iso8583-host/messages.ts';
import { createReferences, type TerminalRange } from './references.ts';
import type {
  AcquirerConnection,
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
  /** Opens new links and closes those that are gone, now. */
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
  ids: Ids;
  log: Log;
  metrics: Metrics;
  timeoutMs: number;
  loadLinks: () => Promise<AcquirerLink[]>;
  onLateAnswer: (late: LateAnswer) => void;
};

const lookForLinksEveryMs = 10_000;

/** @example const acquiring = createAcquiring({ database, clock, ids, log, metrics, timeoutMs, loadLinks, onLateAnswer }); */
export function createAcquiring(deps: Deps): Acquiring {
  const references = createReferences({ database: deps.database, clock: deps.clock });
  const links = new Map<
    string,
    { link: AcquirerLink; fingerprint: string; connection: AcquirerConnection }
  >();
  const seconds = deps.metrics.histogram({
    name: 'switchyard_acquirer_seconds',
    help: 'Time that acquirers take to answer',
    labelNames: ['kind', 'outcome'],
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
  });
  const up = deps.metrics.gauge({
    name: 'switchyard_acquirer_link_up',
    help: 'Whether an acquirer link is signed on',
    labelNames: ['link'],
  });
  let timer: NodeJS.Timeout | undefined;

  // The links of all organisations are opened together: a faulty one must not cost the others.
  function connect(link: AcquirerLink): AcquirerConnection | undefined {
    up.set({ link: link.name }, 0);
    try {
      return adapters[link.adapter]({
        link,
        timeoutMs: deps.timeoutMs,
        clock: deps.clock,
        log: deps.log.child({ link: link.name }),
        onLateAnswer: deps.onLateAnswer,
        onState: (available) => up.set({ link: link.name }, available ? 1 : 0),
      });
    } catch (error) {
      deps.log.error({ err: error, link: link.name }, 'a link cannot be opened');
      return undefined;
    }
  }

  async function openLinks(): Promise<void> {
    const configured = await deps.loadLinks();
    const keep = new Set(configured.map((link) => link.linkId));
    for (const link of configured) {
      const fingerprint = JSON.stringify(link);
      const known = links.get(link.linkId);
      if (known?.fingerprint === fingerprint) continue;
      const connection = connect(link);
      if (connection === undefined) continue;
      links.set(link.linkId, { link, fingerprint, connection });
      await known?.connection.close();
    }
    for (const [linkId, { connection }] of links) {
      if (keep.has(linkId)) continue;
      links.delete(linkId);
      await connection.close();
    }
  }

  return {
    async start() {
      await openLinks();
      timer = setInterval(() => {
        openLinks().catch((error: unknown) => deps.log.warn({ err: error }, 'links not read'));
      }, lookForLinksEveryMs);
      timer.unref();
    },
    openLinks,
    available: (linkId) => links.get(linkId)?.connection.available() ?? false,
    availability: (organizationId) =>
      [...links.values()]
        .filter(({ link }) => link.organizationId === organizationId)
        .map(({ link, connection }) => ({ name: link.name, available: connection.available() })),
    nextReference: ({ kind, ...request }) =>
      references.next({ ...request, mti: messageTypeOf(kind) }),
    async send(request, onSent) {
      const connection = links.get(request.linkId)?.connection;
      if (connection === undefined) return { outcome: 'NotSent', reason: 'unknown link' };
      const startedAt = deps.clock.now();
      const outcome = await connection.send(request, onSent);
      const elapsed = (deps.clock.now() - startedAt) / 1000;
      seconds.observe({ kind: request.kind, outcome: outcome.outcome }, elapsed);
      return outcome;
    },
    async close() {
      clearInterval(timer);
      await Promise.all([...links.values()].map(({ connection }) => connection.close()));
      links.clear();
    },
  };
}
