// Remembers which serial numbers devices have encrypted card data with: each is good for one sale (ADR 0071).
import { type ErrorCode, type Instrument, type ProcessRequest, refuse } from '@switchyard/contract';
import { PinError, readKsn } from '@switchyard/pin';
import { CompiledQuery, type Kysely } from 'kysely';
import { type Clock, type Database, isoTime, type Log } from '../../platform/index.ts';
import { createSweep, type Sweep } from '../runtime/periodic-task.ts';

export type DataUse = {
  organizationId: string;
  /** All of the serial number but its counter. */
  device: string;
  counter: number;
  /** The sale that it is used up by: it may come again. */
  usedBy: string;
  /** The declined sale that this one repeats, with what the terminal has read once. */
  takesOver: string | undefined;
  /** Epoch ms. */
  at: number;
  /** Made some time ago: what the device has counted since does not speak against it. */
  isOffline: boolean;
};

const dayMs = 86_400_000;
/** Longer than a contract can take offline sales for (`maxAgeHours`). */
const keptForMs = 370 * dayMs;
const sweepEveryMs = 3_600_000;
const sweepMax = 1000;

/**
 * One statement: of two sales with one number, one goes on. A sale counts beyond all before it; one that
 * was made offline beyond those alone that are older than it can be, since the rest are known one by one.
 */
const use = {
  name: 'payments-data-use',
  text: `INSERT INTO device_data_uses AS u (organization_id, device, counter, used_by, used_at)
    SELECT $1::uuid, $2::text, $3::bigint, $4::text, $5::timestamptz
    WHERE NOT EXISTS (SELECT 1 FROM device_data_uses d
        WHERE d.organization_id = $1::uuid AND d.device = $2::text AND d.counter > $3::bigint
          AND d.used_at < $6::timestamptz)
      OR EXISTS (SELECT 1 FROM device_data_uses d
        WHERE d.organization_id = $1::uuid AND d.device = $2::text AND d.counter = $3::bigint
          AND d.used_by = ANY ($7::text[]))
    ON CONFLICT (organization_id, device, counter) DO UPDATE SET used_by = excluded.used_by
      WHERE u.used_by = ANY ($7::text[])
    RETURNING counter`,
};

const userText = `SELECT used_by, used_at FROM device_data_uses
  WHERE organization_id = $1 AND device = $2 AND counter = $3`;

/** Of each device the newest old one stays: nothing below it is taken any more. */
const forgetText = `DELETE FROM device_data_uses u
  USING (SELECT o.organization_id, o.device, o.counter FROM device_data_uses o
    WHERE o.used_at < $1 AND o.used_at >= $3 AND EXISTS (SELECT 1 FROM device_data_uses h
      WHERE h.organization_id = o.organization_id AND h.device = o.device
        AND h.counter > o.counter AND h.used_at < $1)
    ORDER BY o.used_at LIMIT $2) AS f
  WHERE u.organization_id = f.organization_id AND u.device = f.device AND u.counter = f.counter
  RETURNING u.used_at`;

function valuesOf({ usedBy, takesOver, at, isOffline, ...of }: DataUse): unknown[] {
  const users = takesOver === undefined ? [usedBy] : [usedBy, takesOver];
  const olderThan = isOffline ? isoTime(at - keptForMs) : 'infinity';
  return [of.organizationId, of.device, of.counter, usedBy, isoTime(at), olderThan, users];
}

/** Within a transaction: it is used up with its sale, or not at all. */
export async function useIn(trx: Kysely<unknown>, dataUse: DataUse): Promise<boolean> {
  const { rows } = await trx.executeQuery(CompiledQuery.raw(use.text, valuesOf(dataUse)));
  return rows.length > 0;
}

export type DataUses = {
  /** Uses a serial number up. False where another sale did, or the device has counted on. */
  take(dataUse: DataUse): Promise<boolean>;
  /** By which sale it was used up and when, epoch ms, if it was. */
  userOf(
    of: Pick<DataUse, 'organizationId' | 'device' | 'counter'>,
  ): Promise<{ usedBy: string; at: number } | undefined>;
  /** Forgets what is too old to matter, a part at a time. @returns how many */
  forget(): Promise<number>;
};

/** @example const dataUses = createDataUses({ database, clock }); await dataUses.take(use); */
export function createDataUses({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): DataUses {
  return {
    async take(dataUse) {
      return (await database.hot(use, valuesOf(dataUse))).length > 0;
    },
    async userOf({ organizationId, device, counter }) {
      const values = [organizationId, device, counter];
      const [row] = await database.query<{ used_by: string; used_at: Date }>(userText, values);
      return row && { usedBy: row.used_by, at: row.used_at.getTime() };
    },
    async forget() {
      const before = isoTime(clock.now() - keptForMs);
      let forgotten = 0;
      // What stays is passed over once, and not with each part.
      for (let from = isoTime(0); ; ) {
        const rows = await database.query<{ used_at: Date }>(forgetText, [before, sweepMax, from]);
        forgotten += rows.length;
        if (rows.length < sweepMax) return forgotten;
        from = isoTime(Math.max(...rows.map((row) => row.used_at.getTime())));
      }
    },
  };
}

/** @example const sweep = createDataUseSweep(deps); sweep.start(); */
export function createDataUseSweep({
  dataUses,
  log,
}: {
  dataUses: Pick<DataUses, 'forget'>;
  log: Log;
}): Sweep {
  const onFault = (error: unknown) =>
    log.warn({ err: error }, 'old serial numbers of card data could not be forgotten');
  return createSweep({ everyMs: sweepEveryMs, look: dataUses.forget, onFault });
}

const pointer = '/instrument/encrypted/ksn';

function refuseAt(code: ErrorCode, detail: string): never {
  return refuse(code, detail, { errors: [{ pointer, code, detail }] });
}

/** @throws Refusal ksn_reused, always */
export function refuseReusedData(): never {
  return refuseAt('ksn_reused', 'The device has used this serial number, or a later one, before.');
}

/** Of a keyed hash of the card: enough to tell two of them apart. */
const markDigits = 16;

export type UseOf = {
  organizationId: string;
  merchantId: string;
  /** The keyed hash of the card. */
  mark: string;
  at: number;
  /** The client's identifier of the declined sale that this one repeats. */
  stepUpOf?: string | undefined;
};

/**
 * What a sale uses up; nothing where its card was not encrypted by the device. Called once the data was
 * decrypted: nobody without the key of the device uses anything up.
 *
 * @throws Refusal encryption_key_unknown where no device counts so
 */
export function dataUseOf(
  request: Pick<ProcessRequest, 'clientTransactionId' | 'offlineTransaction'> & {
    instrument: Instrument;
  },
  { organizationId, merchantId, mark, at, stepUpOf }: UseOf,
): DataUse | undefined {
  const { encrypted } = request.instrument;
  if (encrypted === undefined) return undefined;
  const userOf = (clientTransactionId: string) =>
    [merchantId, clientTransactionId, mark.slice(0, markDigits)].join('|');
  try {
    const { device, counter } = readKsn(encrypted.ksn);
    return {
      organizationId,
      device,
      counter,
      at,
      usedBy: userOf(request.clientTransactionId),
      takesOver: stepUpOf === undefined ? undefined : userOf(stepUpOf),
      isOffline: request.offlineTransaction === true,
    };
  } catch (error) {
    if (!(error instanceof PinError)) throw error;
    return refuseAt('encryption_key_unknown', 'No device counts so.');
  }
}
