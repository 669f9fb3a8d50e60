// Creates the Retail API: a point of sale reaches terminals over HTTP through the connector.
import type { FastifyInstance } from 'fastify';
import type { EventStreams } from '../../http/index.ts';
import { createPoller } from '../../platform/index.ts';
import { addCompletionSource, completionTopic } from './completion-topic.ts';
import { createMessageStore } from './message-store.ts';
import { defaultRetailTimes, type RetailApiDeps } from './retail-dependencies.ts';
import { registerRetailRoutes } from './retail-routes.ts';
import { createRetailTerminals } from './retail-terminals.ts';
import { createMessageSender } from './send-message.ts';
import { createTerminalSessionPool } from './terminal-session-pool.ts';

export { retailEvents } from './message-store.ts';
export type { RetailTimes } from './retail-dependencies.ts';

type RetailApi = {
  register(app: FastifyInstance, streams: EventStreams): void;
  start(): void;
  /** Stops before the connector does, so that waiting clients get an answer. */
  stop(): Promise<void>;
};

const rowsPerStatement = 500;
/** The process that sent the message has this time to store the result itself. */
const completionGraceMs = 60_000;

/** @example const retail = createRetailApi({ ...deps, connector }); retail.register(app, streams); */
export function createRetailApi(deps: RetailApiDeps): RetailApi {
  const { connector, live, clock, dueClock, log } = deps;
  const { sweepMs } = { ...defaultRetailTimes, ...deps.times };
  const store = createMessageStore(deps);
  const sessionPool = createTerminalSessionPool({ connector, clock: dueClock });
  const terminals = createRetailTerminals(deps);
  const messageSender = createMessageSender({
    sessionPool,
    store,
    terminals,
    clock,
    dueClock,
    log,
    times: deps.times,
    onCompleted: (completedMessage) => live.publish(completionTopic(completedMessage), 1),
  });
  addCompletionSource(live, store);
  const cleanup = createPoller({
    pollMs: sweepMs,
    async poll() {
      const expired = await store.expireOverdue(clock.now() - completionGraceMs, rowsPerStatement);
      const deleted = await store.deleteOld(rowsPerStatement);
      return expired === rowsPerStatement || deleted === rowsPerStatement;
    },
    onError: (error) =>
      log.error({ err: error }, 'the server could not clean up the messages to terminals'),
  });
  return {
    register: (app, streams) =>
      registerRetailRoutes(app, { connector, messageSender, terminals }, streams),
    start: cleanup.start,
    async stop() {
      await cleanup.stop();
      await sessionPool.stop();
      await messageSender.waitForIdle();
    },
  };
}
