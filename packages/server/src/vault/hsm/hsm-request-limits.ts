// Limits parallel requests and waiting time for every HSM, and measures each request.
import type { Metrics } from '../../platform/index.ts';
import { HsmError, type OpenableHsm } from './hsm-types.ts';

export type GuardDeps = {
  readonly metrics: Metrics;
  /** The maximum number of parallel requests to the HSM. */
  readonly inFlight: number;
  /** The maximum wait for a free slot, ms. */
  readonly timeoutMs: number;
};

/** Waiting requests for each parallel one; above this the guard answers that the HSM is busy. */
const waitingPerTurn = 4;
const healthLimitMs = 1000;
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const healthValues = { up: 1, degraded: 0.5, down: 0 } as const;

type Operation = 'translatePin' | 'decryptData' | 'mac' | 'importKey' | 'checkKey';

function measurements(metrics: Metrics, hsm: OpenableHsm, waiting: () => number) {
  const durations = metrics.histogram<'operation' | 'outcome'>({
    name: 'switchyard_hsm_request_duration_seconds',
    help: 'Response time of the hardware security module, by operation and outcome',
    labelNames: ['operation', 'outcome'],
    buckets,
  });
  metrics.gauge({
    name: 'switchyard_hsm_requests_waiting',
    help: 'Requests that wait for a free connection to the hardware security module',
    collect() {
      this.set(waiting());
    },
  });
  metrics.gauge({
    name: 'switchyard_hsm_up',
    help: '1 if all hardware security modules respond, 0.5 if some respond, 0 if none responds',
    async collect() {
      this.set(healthValues[await within(hsm.health(), healthLimitMs, 'down')]);
    },
  });
  return durations;
}

/** Returns `late` after the limit, so that the caller always gets an answer. */
async function within<Result>(
  work: Promise<Result>,
  limitMs: number,
  late: Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<Result>((resolve) => {
    timer = setTimeout(() => resolve(late), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

type Turns = { take(): Promise<void>; give(): void; waiting(): number };

function createTurns({ inFlight, timeoutMs }: GuardDeps): Turns {
  const waitingMax = inFlight * waitingPerTurn;
  const queue = new Set<() => void>();
  let running = 0;
  return {
    waiting: () => queue.size,
    async take() {
      if (running < inFlight) {
        running += 1;
        return;
      }
      if (queue.size >= waitingMax) throw new HsmError('HsmBusy');
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          queue.delete(go);
          reject(new HsmError('HsmBusy'));
        }, timeoutMs);
        const go = (): void => {
          clearTimeout(timer);
          resolve();
        };
        queue.add(go);
      });
    },
    give() {
      const [next] = queue;
      if (next === undefined) {
        running -= 1;
        return;
      }
      // The slot passes to the next request, so the count stays the same.
      queue.delete(next);
      next();
    },
  };
}

/** @example const hsm = guardHsm(createSoftwareHsm(deps), { metrics, inFlight: 64, timeoutMs: 2000 }); */
export function guardHsm(hsm: OpenableHsm, deps: GuardDeps): OpenableHsm {
  const { metrics } = deps;
  const turns = createTurns(deps);
  const durations = measurements(metrics, hsm, turns.waiting);
  /** A closed HSM has erased its keys and must not be called, because it would use wrong keys. */
  let closed = false;

  async function run<Result>(operation: Operation, work: () => Promise<Result>): Promise<Result> {
    const end = durations.startTimer({ operation });
    let outcome = 'Done';
    try {
      if (closed) throw new HsmError('HsmUnavailable', 'it is closed');
      await turns.take();
      try {
        return await work();
      } finally {
        turns.give();
      }
    } catch (error) {
      outcome = error instanceof HsmError ? error.code : 'Fault';
      throw error;
    } finally {
      end({ outcome });
    }
  }

  return {
    start: hsm.start,
    translatePin: (request) => run('translatePin', () => hsm.translatePin(request)),
    decryptData: (request) => run('decryptData', () => hsm.decryptData(request)),
    mac: (request) => run('mac', () => hsm.mac(request)),
    importKey: (request) => run('importKey', () => hsm.importKey(request)),
    checkKey: (keyRef) => run('checkKey', () => hsm.checkKey(keyRef)),
    mayUse: hsm.mayUse,
    health: async () => (closed ? 'down' : hsm.health()),
    close() {
      closed = true;
      return hsm.close();
    },
  };
}
