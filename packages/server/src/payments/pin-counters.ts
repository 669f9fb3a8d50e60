// Remembers how far the key serial number of each device has counted: it only ever grows.
import type { Clock, Database } from '../platform/index.ts';
import { isoTime } from '../platform/index.ts';

export type PinCount = {
  organizationId: string;
  /** All of the serial number but its counter. */
  device: string;
  counter: number;
  /** The sale that the counter is used up by; it may come again. */
  usedBy: string;
};

export type PinCounters = {
  /** Uses a counter up. False where it, or a later one, was used up by another sale. */
  take(count: PinCount): Promise<boolean>;
};

/** The condition stands in the one statement: of two sales with one counter, one goes on. */
const take = {
  name: 'payments-pin-counter',
  text: `INSERT INTO pin_counters AS p (organization_id, device, counter, used_by, updated_at)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (organization_id, device) DO UPDATE
      SET counter = excluded.counter, used_by = excluded.used_by, updated_at = excluded.updated_at
      WHERE p.counter < excluded.counter
        OR (p.counter = excluded.counter AND p.used_by = excluded.used_by)
    RETURNING counter`,
};

/** @example const fresh = await pinCounters.take({ organizationId, device, counter, usedBy }); */
export function createPinCounters({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): PinCounters {
  return {
    async take({ organizationId, device, counter, usedBy }) {
      const values = [organizationId, device, counter, usedBy, isoTime(clock.now())];
      return (await database.hot(take, values)).length > 0;
    },
  };
}
