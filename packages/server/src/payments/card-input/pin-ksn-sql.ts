// PIN KSN store: the KSN counter of each device only increases.
import { type Clock, type Database, isoTime } from '../../platform/index.ts';

export type PinKsnUse = {
  organizationId: string;
  /** Until the PIN is translated, the use increases the counter of this merchant only. */
  merchantId: string;
  /** The KSN without its counter. */
  ksnDevicePart: string;
  counter: number;
  /** Key of the sale. The same sale may use the KSN again. */
  usedBy: string;
};

const increaseCounterClause = `ON CONFLICT (organization_id, counter_scope) DO UPDATE
      SET counter = excluded.counter, used_by = excluded.used_by, updated_at = excluded.updated_at
      WHERE p.counter < excluded.counter
        OR (p.counter = excluded.counter AND p.used_by = excluded.used_by)
    RETURNING counter`;

/**
 * One statement, so that of two sales with one KSN only one proceeds. An attempt whose PIN cannot be
 * translated must not block the device for other merchants, since a KSN is not secret.
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

/** @example const isNew = await createPinKsnStore({ database, clock }).take(ksnUse); */
export function createPinKsnStore({ database, clock }: { database: Database; clock: Clock }) {
  const toValues = ({ organizationId, ksnDevicePart, counter, usedBy }: PinKsnUse) => [
    organizationId,
    ksnDevicePart,
    counter,
    usedBy,
    isoTime(clock.now()),
  ];
  return {
    /** False if another sale of the merchant, or any translated PIN, has used this KSN or a later one. */
    async take(ksnUse: PinKsnUse): Promise<boolean> {
      const values = [...toValues(ksnUse), `${ksnUse.ksnDevicePart}|${ksnUse.merchantId}`];
      return (await database.hot(takeStatement, values)).length > 0;
    },
    /** Increases the counter of the device after its PIN was translated. False if another sale did so first. */
    confirmUse: async (ksnUse: PinKsnUse): Promise<boolean> =>
      (await database.hot(confirmStatement, toValues(ksnUse))).length > 0,
  };
}

export type PinKsnStore = ReturnType<typeof createPinKsnStore>;
