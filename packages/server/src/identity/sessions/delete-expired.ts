// Deletes expired codes, sessions, refresh-token families, links and login records periodically, in
// batches.
import type { Clock, Log } from '../../platform/index.ts';
import type { Accounts } from '../accounts/index.ts';
import type { OidcEntityStore } from '../infrastructure/oidc-entity-sql.ts';
import type { TokenFamilies } from '../tokens/refresh-token-families.ts';

const batchRows = 500;
const intervalMs = 300_000;
/** Time limit for each kind of row, so that many rows of one kind do not delay the others. */
const maxMsPerKind = 80_000;

export type ExpiredDataCleanup = { run(): Promise<number>; start(): void; stop(): Promise<void> };

type Deps = {
  entities: Pick<OidcEntityStore, 'deleteExpired'>;
  families: Pick<TokenFamilies, 'deleteExpired'>;
  accounts: Pick<Accounts, 'deleteExpired'>;
  clock: Clock;
  log: Log;
};

export function createExpiredDataCleanup({
  entities,
  families,
  accounts,
  clock,
  log,
}: Deps): ExpiredDataCleanup {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let isStopping = false;

  /** Repeats until no rows are left: clients decide how many rows there are. */
  async function inBatches(deleteBatch: (limit: number) => Promise<number>): Promise<number> {
    const until = clock.now() + maxMsPerKind;
    let total = 0;
    while (!isStopping && clock.now() < until) {
      const deleted = await deleteBatch(batchRows);
      total += deleted;
      if (deleted < batchRows) break;
    }
    return total;
  }

  async function run(): Promise<number> {
    const expired = await inBatches((limit) => entities.deleteExpired(clock.now(), limit));
    const ended = await inBatches(families.deleteExpired);
    return (
      expired + ended + (await inBatches((limit) => accounts.deleteExpired(clock.now(), limit)))
    );
  }

  return {
    run,
    start() {
      timer ??= setInterval(() => {
        running = run().catch((error: unknown) => {
          log.warn(
            { err: error },
            'deleting expired rows failed; the server retries in five minutes',
          );
        });
      }, intervalMs).unref();
    },
    async stop() {
      isStopping = true;
      clearInterval(timer);
      timer = undefined;
      await running;
    },
  };
}
