// The public interface of idempotency: the store of Idempotency-Keys and the deletion of expired keys.
import type { IdempotencyKeys } from '../http/index.ts';
import { type CleanupJob, type Clock, type Ids, isoTime, type Queries } from '../platform/index.ts';
import { createIdempotencyKeys, retentionMs } from './claim-keys.ts';
import { createKeyStore } from './idempotency-keys-sql.ts';

const deleteEveryMs = 300_000;
const keysAtOnce = 1_000;

export type IdempotencyDeps = {
  readonly database: Queries;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly masterKey: Buffer;
};

export type Idempotency = {
  readonly keys: IdempotencyKeys;
  readonly cleanupJob: CleanupJob;
};

/** @example const { keys } = createIdempotency({ database, clock, ids, masterKey }); */
export function createIdempotency(deps: IdempotencyDeps): Idempotency {
  const { database, clock } = deps;
  const store = createKeyStore(database);
  return {
    keys: createIdempotencyKeys({ ...deps, store }),
    cleanupJob: {
      data: 'idempotency keys',
      intervalMs: deleteEveryMs,
      async deleteBatch() {
        const before = isoTime(clock.now() - retentionMs);
        return (await store.sweep(before, keysAtOnce)) === keysAtOnce;
      },
    },
  };
}
