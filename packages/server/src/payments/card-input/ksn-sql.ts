// KSN store for replay protection: one KSN is valid for one sale (ADR 0071).
import { type ErrorCode, type Instrument, type ProcessRequest, refuse } from '@switchyard/contract';
import { PinError, readKsn } from '@switchyard/pin';
import { CompiledQuery, type Kysely } from 'kysely';
import { type Clock, type Database, isoTime, type Log } from '../../platform/index.ts';
import { createPeriodicTask, type PeriodicTask } from '../runtime/periodic-task.ts';

export type KsnUse = {
  organizationId: string;
  /** All of the serial number but its counter. */
  ksnDevicePart: string;
  counter: number;
  /** The sale that it is used up by: it may come again. */
  usedBy: string;
  /** The declined sale that this one repeats, with what the terminal has read once. */
  takesOverFrom: string | undefined;
  /** Epoch ms. */
  at: number;
  /** Made some time ago: what the device has counted since does not speak against it. */
  isOffline: boolean;
};

const dayMs = 86_400_000;
/** Longer than a contract can take offline sales for (`maxAgeHours`). */
const retentionMs = 370 * dayMs;
const intervalMs = 3_600_000;
const batchSize = 1000;

/**
 * One statement: of two sales with one number, one goes on. A sale counts beyond all before it; one that
 * was made offline beyond those alone that are older than it can be, since the rest are known one by one.
 */
const takeKsnStatement = {
  name: 'payments-take-card-data-ksn',
  text: `INSERT INTO card_data_ksn_uses AS u (organization_id, ksn_device_part, counter, used_by, used_at)
    SELECT $1::uuid, $2::text, $3::bigint, $4::text, $5::timestamptz
    WHERE NOT EXISTS (SELECT 1 FROM card_data_ksn_uses d
        WHERE d.organization_id = $1::uuid AND d.ksn_device_part = $2::text AND d.counter > $3::bigint
          AND d.used_at < $6::timestamptz)
      OR EXISTS (SELECT 1 FROM card_data_ksn_uses d
        WHERE d.organization_id = $1::uuid AND d.ksn_device_part = $2::text AND d.counter = $3::bigint
          AND d.used_by = ANY ($7::text[]))
    ON CONFLICT (organization_id, ksn_device_part, counter) DO UPDATE SET used_by = excluded.used_by
      WHERE u.used_by = ANY ($7::text[])
    RETURNING counter`,
};

const findKsnUserText = `SELECT used_by, used_at FROM card_data_ksn_uses
  WHERE organization_id = $1 AND ksn_device_part = $2 AND counter = $3`;

/** Of each device the newest old one stays: nothing below it is taken any more. */
const deleteOldKsnUsesText = `DELETE FROM card_data_ksn_uses u
  USING (SELECT o.organization_id, o.ksn_device_part, o.counter FROM card_data_ksn_uses o
    WHERE o.used_at < $1 AND o.used_at >= $3 AND EXISTS (SELECT 1 FROM card_data_ksn_uses h
      WHERE h.organization_id = o.organization_id AND h.ksn_device_part = o.ksn_device_part
        AND h.counter > o.counter AND h.used_at < $1)
    ORDER BY o.used_at LIMIT $2) AS f
  WHERE u.organization_id = f.organization_id AND u.ksn_device_part = f.ksn_device_part AND u.counter = f.counter
  RETURNING u.used_at`;

function takeKsnValues({
  usedBy,
  takesOverFrom: takesOver,
  at,
  isOffline,
  ...ksn
}: KsnUse): unknown[] {
  const users = takesOver === undefined ? [usedBy] : [usedBy, takesOver];
  const olderThan = isOffline ? isoTime(at - retentionMs) : 'infinity';
  return [
    ksn.organizationId,
    ksn.ksnDevicePart,
    ksn.counter,
    usedBy,
    isoTime(at),
    olderThan,
    users,
  ];
}

/** Within a transaction: it is used up with its sale, or not at all. */
export async function takeKsnInTransaction(
  trx: Kysely<unknown>,
  dataUse: KsnUse,
): Promise<boolean> {
  const { rows } = await trx.executeQuery(
    CompiledQuery.raw(takeKsnStatement.text, takeKsnValues(dataUse)),
  );
  return rows.length > 0;
}

export type KsnStore = {
  /** Uses a serial number up. False where another sale did, or the device has counted on. */
  take(dataUse: KsnUse): Promise<boolean>;
  /** By which sale it was used up and when, epoch ms, if it was. */
  findUser(
    ksn: Pick<KsnUse, 'organizationId' | 'ksnDevicePart' | 'counter'>,
  ): Promise<{ usedBy: string; at: number } | undefined>;
  /** Forgets what is too old to matter, a part at a time. @returns how many */
  deleteOld(): Promise<number>;
};

/** @example const dataUses = createDataUses({ database, clock }); await ksnStore.take(use); */
export function createKsnStore({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): KsnStore {
  return {
    async take(dataUse) {
      return (await database.hot(takeKsnStatement, takeKsnValues(dataUse))).length > 0;
    },
    async findUser({ organizationId, ksnDevicePart: device, counter }) {
      const values = [organizationId, device, counter];
      const [row] = await database.query<{ used_by: string; used_at: Date }>(
        findKsnUserText,
        values,
      );
      return row && { usedBy: row.used_by, at: row.used_at.getTime() };
    },
    async deleteOld() {
      const usedBefore = isoTime(clock.now() - retentionMs);
      let deletedCount = 0;
      // What stays is passed over once, and not with each part.
      for (let from = isoTime(0); ; ) {
        const rows = await database.query<{ used_at: Date }>(deleteOldKsnUsesText, [
          usedBefore,
          batchSize,
          from,
        ]);
        deletedCount += rows.length;
        if (rows.length < batchSize) return deletedCount;
        from = isoTime(Math.max(...rows.map((row) => row.used_at.getTime())));
      }
    },
  };
}

/** @example const sweep = createDataUseSweep(deps); sweep.start(); */
export function createKsnCleanup({
  ksnStore,
  log,
}: {
  ksnStore: Pick<KsnStore, 'deleteOld'>;
  log: Log;
}): PeriodicTask {
  const onError = (error: unknown) =>
    log.warn({ err: error }, 'deletion of old KSN records failed');
  return createPeriodicTask({ intervalMs: intervalMs, run: ksnStore.deleteOld, onError });
}

const pointer = '/instrument/encrypted/ksn';

function refuseKsn(code: ErrorCode, detail: string): never {
  return refuse(code, detail, { errors: [{ pointer, code, detail }] });
}

/** @throws Refusal ksn_reused, always */
export function refuseReusedKsn(): never {
  return refuseKsn('ksn_reused', 'The device has already used this KSN or a later one.');
}

/** Of a keyed hash of the card: enough to tell two of them apart. */
const cardFingerprintDigits = 16;

export type KsnUseInput = {
  organizationId: string;
  merchantId: string;
  /** The keyed hash of the card. */
  cardFingerprint: string;
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
export function createKsnUse(
  request: Pick<ProcessRequest, 'clientTransactionId' | 'offlineTransaction'> & {
    instrument: Instrument;
  },
  { organizationId, merchantId, cardFingerprint, at, stepUpOf }: KsnUseInput,
): KsnUse | undefined {
  const { encrypted } = request.instrument;
  if (encrypted === undefined) return undefined;
  const userOf = (clientTransactionId: string) =>
    [merchantId, clientTransactionId, cardFingerprint.slice(0, cardFingerprintDigits)].join('|');
  try {
    const { device, counter } = readKsn(encrypted.ksn);
    return {
      organizationId,
      ksnDevicePart: device,
      counter,
      at,
      usedBy: userOf(request.clientTransactionId),
      takesOverFrom: stepUpOf === undefined ? undefined : userOf(stepUpOf),
      isOffline: request.offlineTransaction === true,
    };
  } catch (error) {
    if (!(error instanceof PinError)) throw error;
    return refuseKsn('encryption_key_unknown', 'The KSN format is unknown.');
  }
}
