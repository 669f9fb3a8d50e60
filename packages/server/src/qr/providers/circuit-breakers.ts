// Holds the circuits of all called services and schedules their health checks.
import { defined } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { type Clock, type Log, lruCacheOptions, type Metrics } from '../../platform/index.ts';
import { type Circuit, type CircuitLimits, createCircuit, type Entry } from './circuit-breaker.ts';
import type { CircuitState, ProviderHealth } from './provider-types.ts';

const circuitsMax = 10_000;
/** A scrape shows only open and half-open circuits, because the number of services is unlimited. */
const shownMax = 100;
const levels: Readonly<Record<CircuitState, number>> = { closed: 0, half_open: 0.5, open: 1 };

export type Circuits = {
  enter(serviceId: string, isLook: boolean): Entry;
  troubled(): ProviderHealth[];
  stop(): void;
};

type Deps = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly metrics: Metrics;
  /** Checks the health of a service; never throws. */
  readonly look: (serviceId: string) => Promise<unknown>;
  readonly limits?: CircuitLimits;
};

/** @example const circuits = createCircuits({ clock, log, metrics, look }); */
export function createCircuits({ clock, log, metrics, look, limits }: Deps): Circuits {
  const timers = new Map<string, NodeJS.Timeout>();
  let isStopped = false;
  const circuits = new LRUCache<string, Circuit>({
    ...lruCacheOptions(circuitsMax),
    dispose: (_circuit, serviceId) => endLook(serviceId),
  });

  function endLook(serviceId: string): void {
    clearTimeout(timers.get(serviceId));
    timers.delete(serviceId);
  }

  /** Checks the health after the pause, so that a consumer's payment is not the first trial. */
  function lookLater(serviceId: string, circuit: Circuit): void {
    endLook(serviceId);
    if (isStopped) return;
    const timer = setTimeout(() => {
      timers.delete(serviceId);
      void look(serviceId).then(() => {
        if (circuit.state(clock.now()) === 'open' && !timers.has(serviceId)) {
          lookLater(serviceId, circuit);
        }
      });
    }, circuit.retryAfterMs(clock.now()));
    timer.unref();
    timers.set(serviceId, timer);
  }

  function circuitOf(serviceId: string): Circuit {
    const known = circuits.get(serviceId);
    if (known !== undefined) return known;
    const circuit: Circuit = createCircuit({
      clock,
      ...defined({ limits }),
      onChange(state) {
        if (state === 'open') {
          log.warn({ serviceId }, 'a provider fails: it is not called for a while');
          lookLater(serviceId, circuit);
          return;
        }
        endLook(serviceId);
        log.info({ serviceId, state }, 'a provider is called again');
      },
    });
    circuits.set(serviceId, circuit);
    return circuit;
  }

  function troubled(): ProviderHealth[] {
    const now = clock.now();
    const found: ProviderHealth[] = [];
    for (const [serviceId, circuit] of circuits.entries()) {
      const state = circuit.state(now);
      if (state === 'closed') continue;
      if (found.length === shownMax) break;
      found.push({
        serviceId,
        circuit: state,
        consecutiveFailures: circuit.failures(),
        retryAfterMs: circuit.retryAfterMs(now),
      });
    }
    return found;
  }

  metrics.gauge({
    name: 'switchyard_provider_circuit_breaker_state',
    help: 'Circuit breaker of a provider: 1 while open, 0.5 while half open; absent while closed',
    labelNames: ['service'],
    collect() {
      this.reset();
      for (const { serviceId, circuit } of troubled()) {
        this.set({ service: serviceId }, levels[circuit]);
      }
    },
  });

  return {
    enter(serviceId, isLook) {
      const circuit = circuitOf(serviceId);
      return isLook ? circuit.look(clock.now()) : circuit.enter(clock.now());
    },
    troubled,
    stop() {
      isStopped = true;
      for (const serviceId of [...timers.keys()]) endLook(serviceId);
    },
  };
}
