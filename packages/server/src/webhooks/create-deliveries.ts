// Creates the deliveries part: endpoints, planning, sending, replays and retention.
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import {
  type Clock,
  createFailPoints,
  type Database,
  type DueClock,
  type FailPoints,
  type Ids,
  type Jobs,
  type Log,
  type Metrics,
  type OutboxEventMapper,
  type OutgoingCalls,
  withJitter,
} from '../platform/index.ts';
import { attemptTimeoutMs } from './delivery/delivery-attempt.ts';
import { createDispatcher, type DispatcherTimes } from './delivery/delivery-dispatcher.ts';
import { createDeliveryRetention, forgetKind } from './delivery/delivery-retention.ts';
import { createDisable, endpointEvents } from './delivery/disable-endpoint.ts';
import { createDeliveryLog } from './delivery/manage-deliveries.ts';
import { createPlanner } from './delivery/plan-deliveries.ts';
import { createReplays } from './delivery/replay-events.ts';
import { retryDelaysMs } from './delivery/retry-schedule.ts';
import type { LaneKey } from './delivery/send-deliveries-sql.ts';
import { createChallenge } from './endpoints/endpoint-challenge.ts';
import { createEndpointKeys } from './endpoints/endpoint-keys.ts';
import { createEndpoints } from './endpoints/manage-endpoints.ts';
import type { DeliveryPlanner } from './feed/index.ts';
import { type Parts, registerWebhooks } from './webhook-routes.ts';

/** Times that a test can shorten. */
export type DeliveryTimes = Partial<DispatcherTimes> & {
  readonly timeoutMs?: number;
  readonly retryDelaysMs?: readonly number[];
};

export type DeliveriesDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly dueClock: DueClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly audit: AuditRecorder;
  readonly calls: OutgoingCalls;
  readonly masterKey: Buffer;
  readonly retentionDays: number;
  readonly failPoints?: FailPoints;
  readonly times?: DeliveryTimes;
  demandMerchant(organizationId: string, merchantId: string): Promise<void>;
};

export type Deliveries = DeliveryPlanner & {
  register(app: FastifyInstance): void;
  /** The functions behind the routes, for seeds and tests. */
  readonly parts: Parts;
  /** The facts of `endpoint.` events. */
  readonly events: OutboxEventMapper;
  /** Starts sending, in processes with the role `jobs`. */
  start(): void;
  stop(): Promise<void>;
};

/** @example const deliveries = createDeliveries(deps); deliveries.start(); */
export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { database, clock, dueClock, ids, calls, jobs, times = {} } = deps;
  const keys = createEndpointKeys(deps);
  const plan = createPlanner({ clock });
  const dispatcher = createDispatcher({
    ...deps,
    keys,
    times,
    jittered: withJitter,
    failPoints: deps.failPoints ?? createFailPoints(),
    timeoutMs: times.timeoutMs ?? attemptTimeoutMs,
    retryDelaysMs: times.retryDelaysMs ?? retryDelaysMs,
    disable: createDisable(deps),
  });
  let isSending = false;
  const wake = (these: readonly LaneKey[]) => {
    if (isSending) dispatcher.wake(these);
  };
  const endpoints = createEndpoints({
    ...deps,
    keys,
    challenge: createChallenge({ calls, keys, clock, ids }),
    onChange(organizationId, endpointId) {
      if (isSending) dispatcher.changed({ organizationId, endpointId });
    },
    forget: (organizationId, endpointId, trx) =>
      jobs.enqueue({ organizationId, kind: forgetKind, payload: { endpointId } }, trx),
  });
  const deliveries = createDeliveryLog({
    database,
    clock,
    dueClock,
    ids,
    hurry: dispatcher.hurry,
  });
  const replays = createReplays({ database, clock, jobs, wake });
  const parts = { endpoints, deliveries, replays };
  const retention = createDeliveryRetention({ ...deps, days: deps.retentionDays });
  /** Endpoints with planned deliveries that may not be committed yet. */
  const planned = new Map<string, LaneKey>();
  return {
    async plan(events, trx) {
      for (const key of await plan(events, trx)) planned.set(key.endpointId, key);
    },
    poke() {
      wake([...planned.values()]);
      planned.clear();
    },
    parts,
    events: endpointEvents,
    register: (app) => registerWebhooks(app, parts),
    start() {
      isSending = true;
      dispatcher.start();
      retention.start();
    },
    async stop() {
      await retention.stop();
      await dispatcher.stop();
    },
  };
}
