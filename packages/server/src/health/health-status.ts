// Decides whether the platform is degraded: a component is down, or work has waited too long.
import type { PlatformHealth } from '@switchyard/contract';
import { isoTime } from '../platform/index.ts';

/** Normally work waits for a few seconds. */
const degradedAfterSeconds = 60;

type Queues = PlatformHealth['queues'];
export type WaitingWork = {
  readonly [Name in keyof Queues]: { readonly count: number; readonly oldestAt?: number };
};
type Component = { readonly name: string; readonly isUp: boolean };

export function healthOf(
  now: number,
  components: readonly Component[],
  { jobs, outbox, webhooks }: WaitingWork,
): PlatformHealth {
  const viewQueue = ({ count, oldestAt = now }: WaitingWork['jobs']) => ({
    waiting: count,
    oldestSeconds: Math.max(0, Math.floor((now - oldestAt) / 1000)),
  });
  const queues = {
    jobs: viewQueue(jobs),
    outbox: viewQueue(outbox),
    webhooks: viewQueue(webhooks),
  };
  // An unavailable webhook receiver is not an error of the platform, so webhooks do not count.
  const isLate = [queues.jobs, queues.outbox].some(
    (queue) => queue.oldestSeconds >= degradedAfterSeconds,
  );
  const isDown = components.some(({ isUp }) => !isUp);
  return {
    at: isoTime(now),
    status: isLate || isDown ? 'Degraded' : 'Up',
    components: components.map(({ name, isUp }) => ({ name, status: isUp ? 'Up' : 'Down' })),
    queues,
  };
}
