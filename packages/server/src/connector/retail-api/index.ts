// Creates the Retail API: a point of sale reaches terminals over HTTP through the connector.
import type { FastifyInstance } from 'fastify';
import type { EventStreams } from '../../http/index.ts';
import { createPoller } from '../../platform/index.ts';
import { retailTopic, watchMessages } from './completion-topic.ts';
import { createMessageStore } from './message-store.ts';
import { type RetailDeps, usualTimes } from './retail-dependencies.ts';
import { registerRetailRoutes } from './retail-routes.ts';
import { createTerminals } from './retail-terminals.ts';
import { createExchange } from './send-message.ts';
import { createLines } from './terminal-session-pool.ts';

export { retailEventSource as retailEvents } from './message-events.ts';
export type { RetailTimes } from './retail-dependencies.ts';

type Retail = {
  register(app: FastifyInstance, streams: EventStreams): void;
  start(): void;
  /** Stops before the connector does, so that waiting clients get an answer. */
  stop(): Promise<void>;
};

const rowsAtOnce = 500;
/** The process that sent the message has this time to store the result itself. */
const graceMs = 60_000;

/** @example const retail = createRetail({ ...deps, relay: connector }); retail.register(app, streams); */
export function createRetail(deps: RetailDeps): Retail {
  const { relay, live, clock, dueClock, log } = deps;
  const { sweepMs } = { ...usualTimes, ...deps.times };
  const store = createMessageStore(deps);
  const lines = createLines({ relay, clock: dueClock });
  const terminals = createTerminals(deps);
  const exchange = createExchange({
    lines,
    store,
    terminals,
    clock,
    dueClock,
    log,
    times: deps.times,
    told: (kept) => live.publish(retailTopic(kept), 1),
  });
  watchMessages(live, store);
  const sweep = createPoller({
    pollMs: sweepMs,
    async poll() {
      const lapsed = await store.lapse(clock.now() - graceMs, rowsAtOnce);
      const deleted = await store.deleteOld(rowsAtOnce);
      return lapsed === rowsAtOnce || deleted === rowsAtOnce;
    },
    onError: (error) => log.error({ err: error }, 'old messages to terminals were not looked for'),
  });
  return {
    register: (app, streams) => registerRetailRoutes(app, { relay, exchange, terminals }, streams),
    start: sweep.start,
    async stop() {
      await sweep.stop();
      await lines.stop();
      await exchange.settled();
    },
  };
}
