// Replays events to an endpoint in steps through the feed, which continue after a crash.
import {
  type BegunWebhookReplay,
  defined,
  throwProblem,
  type WebhookReplay,
} from '@switchyard/contract';
import { parseTimeRange } from '../../http/index.ts';
import {
  type Clock,
  type Database,
  isoTime,
  isUuid,
  type Job,
  type Jobs,
  type Queries,
} from '../../platform/index.ts';
import {
  type EndpointRecord,
  findEndpoint,
  type ManagedEndpoints,
} from '../endpoints/endpoint-sql.ts';
import { throwEndpointNotFound } from '../endpoints/manage-endpoints.ts';
import { type PlannedEvent, subscribesTo, toNewDelivery } from './plan-deliveries.ts';
import { type EndpointKey, insertDeliveries } from './send-deliveries-sql.ts';

const replayJobKind = 'webhook-replay';
const eventsPerStep = 500;
/** The order of positions can differ a little from the order of times. */
const positionTolerance = 1_000;

export type ReplayOperations = {
  begin(
    scope: ManagedEndpoints,
    endpointId: string,
    span: WebhookReplay,
  ): Promise<BegunWebhookReplay>;
};

export type ReplayDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  wake(keys: readonly EndpointKey[]): void;
};

type ReplayStep = {
  readonly endpointId: string;
  readonly after: number;
  readonly to: number;
  /** Whether to replay delivered events too; otherwise only missed or failed ones. */
  readonly all: boolean;
  readonly from?: string;
  readonly before?: string;
};

/**
 * The last position before a time, by binary search: times rise nearly in the order of positions. A
 * skipped position has no event, so the event before it decides.
 */
async function positionBefore(
  queries: Queries,
  organizationId: string,
  at: string,
): Promise<number> {
  const [row] = await queries.query(
    `WITH RECURSIVE half AS (
       SELECT h.swept AS low, h.position + 1 AS high FROM feed_heads AS h
       WHERE h.organization_id = $1
       UNION ALL
       SELECT CASE WHEN f.created_at >= $2::timestamptz THEN s.low ELSE (s.low + s.high) / 2 END,
         CASE WHEN f.created_at >= $2::timestamptz THEN (s.low + s.high) / 2 ELSE s.high END
       FROM half AS s LEFT JOIN LATERAL (
         SELECT e.created_at FROM feed_events AS e WHERE e.organization_id = $1
           AND e.position > s.low AND e.position <= (s.low + s.high) / 2
         ORDER BY e.position DESC LIMIT 1
       ) AS f ON true
       WHERE s.high - s.low > 1
     )
     SELECT low FROM half ORDER BY high - low LIMIT 1`,
    [organizationId, at],
  );
  return Number(row?.['low'] ?? 0);
}

async function findFeedEnd(queries: Queries, organizationId: string): Promise<number> {
  const [row] = await queries.query('SELECT position FROM feed_heads WHERE organization_id = $1', [
    organizationId,
  ]);
  return Number(row?.['position'] ?? 0);
}

/**
 * The position up to which the endpoint acknowledged all events: before its first failed delivery
 * and before the events that it missed while it was disabled.
 */
async function findLastAcknowledged(
  queries: Queries,
  row: EndpointRecord,
  head: number,
): Promise<number> {
  const [failedRow] = await queries.query(
    `SELECT min(position) AS position FROM webhook_deliveries
     WHERE organization_id = $1 AND endpoint_id = $2 AND status = 'Failed'`,
    [row.organizationId, row.endpointId],
  );
  const failed = failedRow?.['position'];
  const firstFailed = failed === null || failed === undefined ? head : Number(failed) - 1;
  return Math.max(0, Math.min(firstFailed, row.gapAfter ?? head));
}

async function findEventsOfStep(queries: Queries, organizationId: string, step: ReplayStep) {
  const rows = await queries.query(
    `SELECT organization_id AS "organizationId", event_id AS "eventId", type, position,
       merchant_id AS "merchantId",
       ($4::timestamptz IS NULL OR created_at >= $4) AND ($5::timestamptz IS NULL OR created_at < $5)
         AS "isWithin"
     FROM feed_events WHERE organization_id = $1 AND position > $2 AND position <= $3
     ORDER BY position LIMIT ${eventsPerStep}`,
    [organizationId, step.after, step.to, step.from ?? null, step.before ?? null],
  );
  return rows as (PlannedEvent & { readonly isWithin: boolean })[];
}

/** @returns undefined if the request names no time. @throws ProblemError field_invalid */
function parseReplayTimes(
  span: WebhookReplay,
): { from: string; to?: string | undefined } | undefined {
  const { from, to } = parseTimeRange(span);
  if (from === undefined && to === undefined) return undefined;
  if (from !== undefined && (to === undefined || to > from)) return { from, to };
  const pointer = from === undefined ? '/from' : '/to';
  const detail = from === undefined ? 'is required if “to” is set' : 'must be later than “from”';
  return throwProblem('field_invalid', `${pointer.slice(1)} ${detail}.`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

/**
 * Allows one replay at a time, because each may read the whole feed.
 *
 * @throws ProblemError replay_running
 */
function requireNoRunningReplay({
  replayAfter: afterPosition,
  replayTo: toPosition,
}: EndpointRecord): void {
  if (toPosition === undefined) return;
  throwProblem('replay_running', 'A replay to this endpoint is already running.', {
    extensions: defined({ afterPosition, toPosition }),
  });
}

/** Stores the bounds of the running replay; without bounds no replay runs. */
async function storeReplayBounds(
  queries: Queries,
  { organizationId, endpointId }: EndpointRecord,
  span: { readonly after: number; readonly to: number } | undefined,
): Promise<void> {
  await queries.query(
    `UPDATE webhook_endpoints SET replay_after = $3, replay_to = $4
     WHERE organization_id = $1 AND endpoint_id = $2`,
    [organizationId, endpointId, span?.after ?? null, span?.to ?? null],
  );
}

/** @example const replays = createReplays(deps); await replays.begin(organizationId, endpointId, { from }); */
export function createReplays(deps: ReplayDeps): ReplayOperations {
  const { database, clock, jobs, wake } = deps;

  const enqueue = (
    organizationId: string,
    payload: ReplayStep,
    trx: Parameters<Jobs['enqueue']>[1],
  ) => jobs.enqueue({ organizationId, kind: replayJobKind, payload }, trx);

  /** Enqueues the next step in the transaction of this one; a repeated step has the same result. */
  async function runStep({ organizationId, payload }: Job): Promise<void> {
    const step = payload as ReplayStep;
    const { endpointId, all } = step;
    await database.transaction(async (trx) => {
      const row = await findEndpoint(trx, { organizationId }, endpointId);
      if (row === undefined) return;
      const subscription = { eventTypes: row.eventTypes, merchantId: row.merchantId ?? null };
      const events = await findEventsOfStep(trx, organizationId, step);
      const planned = events.filter((event) => event.isWithin && subscribesTo(subscription, event));
      if (planned.length > 0) {
        const rows = planned.map((event) => toNewDelivery(event, endpointId));
        await insertDeliveries(trx, rows, isoTime(clock.now()), all ? 'ended' : 'failed');
      }
      const last = events.at(-1);
      if (last === undefined || events.length < eventsPerStep)
        return storeReplayBounds(trx, row, undefined);
      return enqueue(organizationId, { ...step, after: last.position }, trx);
    });
    wake([{ organizationId, endpointId }]);
    jobs.wake();
  }
  jobs.handle(replayJobKind, runStep);

  async function findPositions(
    queries: Queries,
    organizationId: string,
    { from, to }: NonNullable<ReturnType<typeof parseReplayTimes>>,
    head: number,
  ) {
    const after = Math.max(
      0,
      (await positionBefore(queries, organizationId, from)) - positionTolerance,
    );
    const end = to === undefined ? head : await positionBefore(queries, organizationId, to);
    const before = defined({ before: to });
    return { after, to: Math.min(head, end + positionTolerance), all: true, from, ...before };
  }

  return {
    async begin(scope, endpointIdText, span) {
      const { organizationId } = scope;
      const times = parseReplayTimes(span);
      const firstStep = await database.transaction(async (trx) => {
        const row = isUuid(endpointIdText)
          ? await findEndpoint(trx, scope, endpointIdText, 'FOR UPDATE OF e')
          : undefined;
        if (row === undefined) return throwEndpointNotFound();
        if (row.status !== 'Enabled') throwProblem('endpoint_state', 'The endpoint is disabled.');
        requireNoRunningReplay(row);
        const endpointId = row.endpointId;
        const head = await findFeedEnd(trx, organizationId);
        if (times !== undefined) {
          const step = { endpointId, ...(await findPositions(trx, organizationId, times, head)) };
          await storeReplayBounds(trx, row, step);
          await enqueue(organizationId, step, trx);
          return step;
        }
        const after = await findLastAcknowledged(trx, row, head);
        const step = { endpointId, after, to: head, all: false };
        await storeReplayBounds(trx, row, step);
        await enqueue(organizationId, step, trx);
        await trx.query(
          `UPDATE webhook_endpoints SET gap_after = NULL WHERE organization_id = $1
           AND endpoint_id = $2`,
          [organizationId, endpointId],
        );
        return step;
      });
      jobs.wake();
      return {
        endpointId: firstStep.endpointId,
        afterPosition: firstStep.after,
        toPosition: firstStep.to,
      };
    },
  };
}
