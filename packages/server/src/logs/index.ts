// The door of the logs: what the applications of an organisation asked, and what they were told.
import type { FastifyInstance } from 'fastify';
import type { OnAnswered, Streams } from '../http/index.ts';
import type { Clock, Database, Live, Log, Metrics, Settings } from '../platform/index.ts';
import { createRetention } from './delete-old-lines.ts';
import { createFinder } from './find-requests.ts';
import { topicKind, topicOf } from './log-topic.ts';
import { createLineStore, type Head, type Portal } from './request-log-sql.ts';
import { createRecorder } from './request-recorder.ts';
import { registerLogRoutes } from './routes.ts';

export type LogsDeps = Portal & {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly live: Pick<Live, 'source' | 'publish'>;
  readonly settings: Pick<Settings, 'requestLog' | 'requestLogDays' | 'requestLogRows'>;
};

export type Logs = {
  /** Undefined where no log is kept: then requests cost nothing for it. */
  readonly note: OnAnswered | undefined;
  register(app: FastifyInstance, streams: Streams): void;
  /** `deletes`: lines that are too old, which one process of several sees to. */
  start(on: { deletes: boolean }): void;
  stop(): Promise<void>;
};

/** @example const logs = createLogs({ database, clock, log, metrics, live, settings }); */
export function createLogs(deps: LogsDeps): Logs {
  const { settings, live } = deps;
  const { requestLog: keeps, requestLogRows: rowsMax, requestLogDays: days } = settings;
  const store = createLineStore(deps.database, deps);
  const retention = createRetention({ ...deps, store, days });
  const grew = (heads: readonly Head[]) => {
    for (const { organizationId, sequence } of heads)
      live.publish(topicOf(organizationId), sequence);
  };
  live.source(topicKind, async (organizationIds) => {
    const heads = await store.heads(organizationIds);
    return new Map(heads.map(({ organizationId, sequence }) => [organizationId, sequence]));
  });
  const recorder =
    keeps === 'off' ? undefined : createRecorder({ ...deps, store, keeps, rowsMax, grew });
  return {
    note: recorder?.note,
    register: (app, streams) => registerLogRoutes(app, { finder: createFinder(store), streams }),
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
