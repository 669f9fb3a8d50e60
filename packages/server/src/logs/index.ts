// The public interface of logs: the request log of an organisation's applications.
import type { FastifyInstance } from 'fastify';
import type { EventStreams, OnResponse } from '../http/index.ts';
import {
  type ChangeNotifier,
  type CleanupJob,
  type Clock,
  type Database,
  dayMs,
  isoTime,
  type Log,
  type Metrics,
  type Settings,
} from '../platform/index.ts';
import { createRequestFinder } from './find-requests.ts';
import { logTopic, logTopicKind } from './log-topic.ts';
import { createRequestLogStore, type Head, type PortalClient } from './request-log-sql.ts';
import { createRequestRecorder } from './request-recorder.ts';
import { registerLogRoutes } from './routes.ts';

export type LogsDeps = PortalClient & {
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
  readonly cleanupJob: CleanupJob;
  start(): void;
  stop(): Promise<void>;
};

const deleteEveryMs = 60_000;
const linesAtOnce = 2000;

/** @example const logs = createLogs({ database, clock, log, metrics, live, settings }); */
export function createLogs(deps: LogsDeps): Logs {
  const { settings, live, clock } = deps;
  const { requestLog: recorded, requestLogRows: maxRows, requestLogRetentionDays: days } = settings;
  const store = createRequestLogStore(deps.database, deps);
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
    cleanupJob: {
      data: 'lines of the request log',
      intervalMs: deleteEveryMs,
      async deleteBatch() {
        const before = isoTime(clock.now() - days * dayMs);
        return (await store.deleteBefore(before, linesAtOnce)) === linesAtOnce;
      },
    },
    start: () => recorder?.start(),
    stop: async () => recorder?.stop(),
  };
}
