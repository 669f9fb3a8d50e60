// The door of the logs: what the applications of an organisation asked, and what they were told.
import type { FastifyInstance } from 'fastify';
import type { EventStreams, OnResponse } from '../http/index.ts';
import type { Clock, Database, Live, Log, Metrics, Settings } from '../platform/index.ts';
import { createOldLineDeletion } from './delete-old-lines.ts';
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
  readonly live: Pick<Live, 'source' | 'publish'>;
  readonly settings: Pick<Settings, 'requestLog' | 'requestLogDays' | 'requestLogRows'>;
};

export type Logs = {
  /** Undefined where no log is kept: then requests cost nothing for it. */
  readonly record: OnResponse | undefined;
  register(app: FastifyInstance, streams: EventStreams): void;
  /** `deletes`: lines that are too old, which one process of several sees to. */
  start(on: { deletes: boolean }): void;
  stop(): Promise<void>;
};

/** @example const logs = createLogs({ database, clock, log, metrics, live, settings }); */
export function createLogs(deps: LogsDeps): Logs {
  const { settings, live } = deps;
  const { requestLog: recorded, requestLogRows: maxRows, requestLogDays: days } = settings;
  const store = createRequestLogStore(deps.database, deps);
  const retention = createOldLineDeletion({ ...deps, store, days });
  const onAppended = (heads: readonly Head[]) => {
    for (const { organizationId, sequence } of heads)
      live.publish(logTopic(organizationId), sequence);
  };
  live.source(logTopicKind, async (organizationIds) => {
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
