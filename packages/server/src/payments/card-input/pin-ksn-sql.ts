// PIN KSN store: the KSN counter of each device only increases.
import type { Clock, Database } from '../../platform/index.ts';
import { isoTime } from '../../platform/index.ts';

export type PinKsnUse = {
  organizationId: string;
  /** Whose sale it is: what it tries moves its own count alone, until a PIN was read. */
  merchantId: string;
  /** All of the serial number but its counter. */
  ksnDevicePart: string;
  counter: number;
  /** The sale that the counter is used up by; it may come again. */
  usedBy: string;
};

export type PinKsnStore = {
  /**
   * Uses a counter up before anything is tried with it. False where it, or a later one, was used up
   * by another try of the merchant, or by a PIN that was read anywhere.
   */
  take(ksnUse: PinKsnUse): Promise<boolean>;
  /** Moves the device itself on, once its PIN was read. False where another sale was faster. */
  confirmUse(ksnUse: PinKsnUse): Promise<boolean>;
};

const increaseCounterClause = `ON CONFLICT (organization_id, counter_scope) DO UPDATE
      SET counter = excluded.counter, used_by = excluded.used_by, updated_at = excluded.updated_at
      WHERE p.counter < excluded.counter
        OR (p.counter = excluded.counter AND p.used_by = excluded.used_by)
    RETURNING counter`;

/**
 * The condition stands in the one statement: of two sales with one counter, one goes on. A try that
 * nobody could read must not cost other merchants the device: anybody can write a serial number down.
 */
const takeStatement = {
  name: 'payments-take-pin-ksn',
  text: `INSERT INTO pin_ksn_counters AS p (organization_id, counter_scope, counter, used_by, updated_at)
    SELECT $1::uuid, $6::text, $3::bigint, $4::text, $5::timestamptz WHERE NOT EXISTS (
      SELECT 1 FROM pin_ksn_counters d WHERE d.organization_id = $1::uuid AND d.counter_scope = $2::text
        AND (d.counter > $3::bigint OR (d.counter = $3::bigint AND d.used_by <> $4::text)))
    ${increaseCounterClause}`,
};

const confirmStatement = {
  name: 'payments-confirm-pin-ksn',
  text: `INSERT INTO pin_ksn_counters AS p (organization_id, counter_scope, counter, used_by, updated_at)
    VALUES ($1, $2, $3, $4, $5)
    ${increaseCounterClause}`,
};

/** @example const fresh = await pinCounters.take({ organizationId, merchantId, device, counter, usedBy }); */
export function createPinKsnStore({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): PinKsnStore {
  const toValues = ({ organizationId, ksnDevicePart: device, counter, usedBy }: PinKsnUse) => [
    organizationId,
    device,
    counter,
    usedBy,
    isoTime(clock.now()),
  ];
  return {
    async take(ksnUse) {
      const merchantCounterKey = `${ksnUse.ksnDevicePart}|${ksnUse.merchantId}`;
      return (
        (await database.hot(takeStatement, [...toValues(ksnUse), merchantCounterKey])).length > 0
      );
    },
    async confirmUse(ksnUse) {
      return (await database.hot(confirmStatement, toValues(ksnUse))).length > 0;
    },
  };
}
