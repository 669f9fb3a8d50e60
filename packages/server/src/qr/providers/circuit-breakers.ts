// Holds the circuits of all called services and schedules their health checks.
import { defined } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { type Clock, type Log, lruCacheOptions, type Metrics } from '../../platform/index.ts';
import {
  type CircuitBreaker,
  type CircuitBreakerLimits,
  type CircuitEntry,
  createCircuitBreaker,
} from './circuit-breaker.ts';
import type { CircuitState, ProviderHealth } from './provider-types.ts';

const circuitsMax = 10_000;
/** A scrape shows only open and half-open circuits, because the number of services is unlimited. */
const listedMax = 100;
const levels: Readonly<Record<CircuitState, number>> = { closed: 0, half_open: 0.5, open: 1 };

export type CircuitBreakers = {
  enter(serviceId: string, isHealthCheck: boolean): CircuitEntry;
  listFailing(): ProviderHealth[];
  stop(): void;
};

type Deps = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly metrics: Metrics;
  /** Checks the health of a service; never throws. */
  readonly checkHealth: (serviceId: string) => Promise<unknown>;
  readonly limits?: CircuitBreakerLimits;
};

/** @example const circuits = createCircuitBreakers({ clock, log, metrics, checkHealth }); */
export function createCircuitBreakers({
  clock,
  log,
  metrics,
  checkHealth,
  limits,
}: Deps): CircuitBreakers {
  const timers = new Map<string, NodeJS.Timeout>();
  let isStopped = false;
  const circuits = new LRUCache<string, CircuitBreaker>({
    ...lruCacheOptions(circuitsMax),
    dispose: (_circuit, serviceId) => cancelHealthCheck(serviceId),
  });

  function cancelHealthCheck(serviceId: string): void {
    clearTimeout(timers.get(serviceId));
    timers.delete(serviceId);
  }

  /** Checks the health after the pause, so that a consumer's payment is not the first trial. */
  function scheduleHealthCheck(serviceId: string, circuit: CircuitBreaker): void {
    cancelHealthCheck(serviceId);
    if (isStopped) return;
    const timer = setTimeout(() => {
      timers.delete(serviceId);
      void checkHealth(serviceId).then(() => {
        if (circuit.state(clock.now()) === 'open' && !timers.has(serviceId)) {
          scheduleHealthCheck(serviceId, circuit);
        }
      });
    }, circuit.retryAfterMs(clock.now()));
    timer.unref();
    timers.set(serviceId, timer);
  }

  function findOrCreateCircuit(serviceId: string): CircuitBreaker {
    const existing = circuits.get(serviceId);
    if (existing !== undefined) return existing;
    const circuit: CircuitBreaker = createCircuitBreaker({
      clock,
      ...defined({ limits }),
      onChange(state) {
        if (state === 'open') {
          log.warn({ serviceId }, 'a provider fails: the server does not call it for a while');
          scheduleHealthCheck(serviceId, circuit);
          return;
        }
        cancelHealthCheck(serviceId);
        log.info({ serviceId, state }, 'the server calls a provider again');
      },
    });
    circuits.set(serviceId, circuit);
    return circuit;
  }

  function listFailing(): ProviderHealth[] {
    const now = clock.now();
    const failing: ProviderHealth[] = [];
    for (const [serviceId, circuit] of circuits.entries()) {
      const state = circuit.state(now);
      if (state === 'closed') continue;
      if (failing.length === listedMax) break;
      failing.push({
        serviceId,
        circuit: state,
        consecutiveFailures: circuit.failures(),
        retryAfterMs: circuit.retryAfterMs(now),
      });
    }
    return failing;
  }

  metrics.gauge({
    name: 'switchyard_provider_circuit_breaker_state',
    help: 'Circuit breaker of a provider: 1 while open, 0.5 while half open; absent while closed',
    labelNames: ['service'],
    collect() {
      this.reset();
      for (const { serviceId, circuit } of listFailing()) {
        this.set({ service: serviceId }, levels[circuit]);
      }
    },
  });

  return {
    enter(serviceId, isHealthCheck) {
      const circuit = findOrCreateCircuit(serviceId);
      return isHealthCheck ? circuit.enterHealthCheck(clock.now()) : circuit.enterCall(clock.now());
    },
    listFailing,
    stop() {
      isStopped = true;
      for (const serviceId of [...timers.keys()]) cancelHealthCheck(serviceId);
    },
  };
}
