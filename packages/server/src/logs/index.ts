// The door of the logs: what the applications of an organisation asked, and what they were told.
import type { FastifyInstance } from 'fastify';
import type { OnAnswered } from '../http/index.ts';
import type { Clock, Database, Log, Metrics, Settings } from '../platform/index.ts';
import { createFinder } from './find.ts';
import { createRecorder } from './recorder.ts';
import { createRetention } from './retention.ts';
import { registerLogRoutes } from './routes.ts';
import { createLineStore } from './store.ts';

export type LogsDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly settings: Pick<Settings, 'requestLog' | 'requestLogDays' | 'requestLogRows'>;
};

export type Logs = {
  /** Undefined where no log is kept: then requests cost nothing for it. */
  readonly note: OnAnswered | undefined;
  register(app: FastifyInstance): void;
  /** `deletes`: lines that are too old, which one process of several sees to. */
  start(on: { deletes: boolean }): void;
  stop(): Promise<void>;
};

/** @example const logs = createLogs({ database, clock, log, metrics, settings }); */
export function createLogs(deps: LogsDeps): Logs {
  const { settings } = deps;
  const { requestLog: keeps, requestLogRows: rowsMax, requestLogDays: days } = settings;
  const store = createLineStore(deps.database);
  const retention = createRetention({ ...deps, store, days });
  const grew = () => {};
  const recorder =
    keeps === 'off' ? undefined : createRecorder({ ...deps, store, keeps, rowsMax, grew });
  return {
    note: recorder?.note,
    register: (app) => registerLogRoutes(app, { finder: createFinder(store) }),
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
