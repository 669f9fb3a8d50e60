// Limits parallel requests and waiting time for every HSM, and measures each request.
import { createConcurrencyLimit, type Metrics } from '../../platform/index.ts';
import { HsmError, type StartableHsm } from './hsm-types.ts';

export type HsmRequestLimitDeps = {
  readonly metrics: Metrics;
  /** The maximum number of parallel requests to the HSM. */
  readonly maxConcurrentRequests: number;
  /** The maximum wait for a free slot, ms. */
  readonly timeoutMs: number;
};

/** Waiting requests for each parallel one; above this the guard answers that the HSM is busy. */
const waitingPerSlot = 4;
const healthLimitMs = 1000;
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const healthValues = { up: 1, degraded: 0.5, down: 0 } as const;

type Operation = 'translatePin' | 'decryptData' | 'mac' | 'importKey' | 'checkKey';

function registerMetrics(metrics: Metrics, hsm: StartableHsm, waiting: () => number) {
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
      this.set(healthValues[await withTimeout(hsm.health(), healthLimitMs, 'down')]);
    },
  });
  return durations;
}

/** Returns `fallback` after the limit, so that the caller always gets an answer. */
async function withTimeout<Result>(
  work: Promise<Result>,
  limitMs: number,
  fallback: Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<Result>((resolve) => {
    timer = setTimeout(() => resolve(fallback), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** @example const hsm = limitHsmRequests(createSoftwareHsm(deps), { metrics, maxConcurrentRequests: 64, timeoutMs: 2000 }); */
export function limitHsmRequests(hsm: StartableHsm, deps: HsmRequestLimitDeps): StartableHsm {
  const { metrics, maxConcurrentRequests, timeoutMs } = deps;
  const limit = createConcurrencyLimit({
    maxConcurrent: maxConcurrentRequests,
    waitLimit: {
      maxWaiting: maxConcurrentRequests * waitingPerSlot,
      maxWaitMs: timeoutMs,
      error: () => new HsmError('HsmBusy'),
    },
  });
  const durations = registerMetrics(metrics, hsm, limit.waiting);
  /** A closed HSM has erased its keys and must not be called, because it would use wrong keys. */
  let closed = false;

  async function runLimited<Result>(
    operation: Operation,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const end = durations.startTimer({ operation });
    let outcome = 'Done';
    try {
      if (closed) throw new HsmError('HsmUnavailable', 'it is closed');
      return await limit.run(work);
    } catch (error) {
      outcome = error instanceof HsmError ? error.code : 'Fault';
      throw error;
    } finally {
      end({ outcome });
    }
  }

  return {
    start: hsm.start,
    translatePin: (request) => runLimited('translatePin', () => hsm.translatePin(request)),
    decryptData: (request) => runLimited('decryptData', () => hsm.decryptData(request)),
    mac: (request) => runLimited('mac', () => hsm.mac(request)),
    importKey: (request) => runLimited('importKey', () => hsm.importKey(request)),
    checkKey: (keyRef) => runLimited('checkKey', () => hsm.checkKey(keyRef)),
    mayUse: hsm.mayUse,
    health: async () => (closed ? 'down' : hsm.health()),
    close() {
      closed = true;
      return hsm.close();
    },
  };
}
