// The public interface of logs: the request log of an organisation's applications.
import type { FastifyInstance } from 'fastify';
import type { EventStreams, OnResponse } from '../http/index.ts';
import {
  type ChangeNotifier,
  type Clock,
  createPoller,
  type Database,
  isoTime,
  type Log,
  type Metrics,
  type Poller,
  type Settings,
} from '../platform/index.ts';
import { createRequestFinder } from './find-requests.ts';
import { logTopic, logTopicKind } from './log-topic.ts';
import {
  createRequestLogStore,
  type Head,
  type PortalClient,
  type RequestLogStore,
} from './request-log-sql.ts';
import { createRequestRecorder } from './request-recorder.ts';
import { registerLogRoutes } from './routes.ts';

type LogsDeps = PortalClient & {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly live: Pick<ChangeNotifier, 'addSource' | 'publish'>;
  readonly settings: Pick<Settings, 'requestLog' | 'requestLogRetentionDays' | 'requestLogRows'>;
};

export type Logs = {
  /** Undefined when the request log is off, so that requests cost nothing. */
  readonly record: OnResponse | undefined;
  register(app: FastifyInstance, streams: EventStreams): void;
  /** `deletes`: whether this process deletes expired lines. */
  start(options: { deletes: boolean }): void;
  stop(): Promise<void>;
};

const deleteEveryMs = 60_000;
const linesAtOnce = 2000;
const dayMs = 86_400_000;

/** @example const logs = createLogs({ database, clock, log, metrics, live, settings }); */
export function createLogs(deps: LogsDeps): Logs {
  const { settings, live } = deps;
  const { requestLog: recorded, requestLogRows: maxRows, requestLogRetentionDays: days } = settings;
  const store = createRequestLogStore(deps.database, deps);
  const retention = createOldLineDeletion(store, deps, days);
  const onAppended = (heads: readonly Head[]) => {
    for (const { organizationId, sequence } of heads)
      live.publish(logTopic(organizationId), sequence);
  };
  live.addSource(logTopicKind, async (organizationIds) => {
    const heads = await store.heads(organizationIds);
    return new Map(heads.map(({ organizationId, sequence }) => [organizationId, sequence]));
  });
  const recorder =
    recorded === 'off'
      ? undefined
      : createRequestRecorder({ ...deps, store, recorded, maxRows, onAppended });
  return {
    record: recorder?.record,
    register: (app, streams) =>
      registerLogRoutes(app, { finder: createRequestFinder(store), streams }),
    start({ deletes }) {
      recorder?.start();
      if (deletes) retention.start();
    },
    async stop() {
      await recorder?.stop();
      await retention.stop();
    },
  };
}

/** Deletes expired lines in batches. */
export function createOldLineDeletion(
  store: Pick<RequestLogStore, 'deleteBefore'>,
  { clock, log }: Pick<LogsDeps, 'clock' | 'log'>,
  days: number,
): Poller {
  return createPoller({
    pollMs: deleteEveryMs,
    async poll() {
      const before = isoTime(clock.now() - days * dayMs);
      return (await store.deleteBefore(before, linesAtOnce)) === linesAtOnce;
    },
    onError: (error) => log.warn({ err: error }, 'old lines of the request log were not deleted'),
  });
}
