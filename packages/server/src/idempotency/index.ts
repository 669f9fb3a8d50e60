// The public interface of idempotency: the store of Idempotency-Keys and the deletion of expired keys.
import type { IdempotencyKeys } from '../http/index.ts';
import {
  type Clock,
  createPoller,
  type Ids,
  isoTime,
  type Log,
  type Poller,
  type Queries,
} from '../platform/index.ts';
import { createIdempotencyKeys, retentionMs } from './claim-keys.ts';
import { createKeyStore } from './idempotency-keys-sql.ts';

const sweepEveryMs = 300_000;
const keysAtOnce = 1_000;

export type IdempotencyDeps = {
  readonly database: Queries;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly log: Log;
  readonly masterKey: Buffer;
};

export type Idempotency = {
  readonly keys: IdempotencyKeys;
} & Pick<Poller, 'start' | 'stop'>;

/** @example const { keys } = createIdempotency({ database, clock, ids, log, masterKey }); */
export function createIdempotency(deps: IdempotencyDeps): Idempotency {
  const { database, clock, log } = deps;
  const store = createKeyStore(database);
  const { start, stop } = createPoller({
    pollMs: sweepEveryMs,
    async poll() {
      const deletedCount = await store.sweep(isoTime(clock.now() - retentionMs), keysAtOnce);
      return deletedCount === keysAtOnce;
    },
    onError: (error) => log.warn({ err: error }, 'old idempotency keys were not deleted'),
  });
  return { keys: createIdempotencyKeys({ ...deps, store }), start, stop };
}
