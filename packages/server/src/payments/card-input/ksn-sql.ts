// SQL of key serial numbers: each KSN of card data or of a PIN is used once.
import { type ProcessRequest, throwFieldProblem } from '@switchyard/contract';
import { PinError, readKsn } from '@switchyard/pin';
import {
  type CleanupJob,
  type Clock,
  type Database,
  dayMs,
  hourMs,
  isoTime,
  type Queries,
} from '../../platform/index.ts';

export type KsnUse = {
  organizationId: string;
  /** The KSN without its counter. */
  ksnDevicePart: string;
  counter: number;
  /** Key of the sale. The same sale may use the KSN again. */
  usedBy: string;
  /** Key of an earlier sale whose KSN this sale may use. */
  takesOverFrom: string | undefined;
  /** Epoch ms. */
  at: number;
  /** An offline sale may have a lower counter than later uses of the device. */
  isOffline: boolean;
};

/** Longer than the maximum age of an offline sale (`maxAgeHours`). */
const retentionMs = 370 * dayMs;
const batchSize = 1000;

/**
 * One statement, so that of two sales with one KSN only one proceeds. The counter of a sale must exceed all
 * earlier ones; that of an offline sale only those older than $6, since each later one has a row.
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

const findKsnUserText = `SELECT used_by AS "usedBy", used_at AS "usedAt" FROM card_data_ksn_uses
  WHERE organization_id = $1 AND ksn_device_part = $2 AND counter = $3`;

/** Keeps the highest old counter of each device as its lower limit. */
const deleteOldKsnUsesText = `DELETE FROM card_data_ksn_uses u
  USING (SELECT o.organization_id, o.ksn_device_part, o.counter FROM card_data_ksn_uses o
    WHERE o.used_at < $1 AND o.used_at >= $3 AND EXISTS (SELECT 1 FROM card_data_ksn_uses h
      WHERE h.organization_id = o.organization_id AND h.ksn_device_part = o.ksn_device_part
        AND h.counter > o.counter AND h.used_at < $1)
    ORDER BY o.used_at LIMIT $2) AS f
  WHERE u.organization_id = f.organization_id AND u.ksn_device_part = f.ksn_device_part AND u.counter = f.counter
  RETURNING u.used_at`;

function takeKsnValues(ksnUse: KsnUse): unknown[] {
  const { organizationId, ksnDevicePart, counter, usedBy, takesOverFrom = usedBy, at } = ksnUse;
  const olderThan = ksnUse.isOffline ? isoTime(at - retentionMs) : 'infinity';
  const users = [usedBy, takesOverFrom];
  return [organizationId, ksnDevicePart, counter, usedBy, isoTime(at), olderThan, users];
}

/** For the commit that stores the sale. */
export async function takeKsnInTransaction(trx: Queries, ksnUse: KsnUse): Promise<boolean> {
  return (await trx.query(takeKsnStatement.text, takeKsnValues(ksnUse))).length > 0;
}

/** @example const ksnStore = createKsnStore({ database, clock }); await ksnStore.take(ksnUse); */
export function createKsnStore({ database, clock }: { database: Database; clock: Clock }) {
  return {
    /** False if another sale has used the KSN or the device has used a later one. */
    async take(ksnUse: KsnUse): Promise<boolean> {
      return (await database.hot(takeKsnStatement, takeKsnValues(ksnUse))).length > 0;
    },
    async findUser({ organizationId, ksnDevicePart, counter }: KsnUse) {
      type User = { usedBy: string; usedAt: Date };
      const values = [organizationId, ksnDevicePart, counter];
      return (await database.query<User>(findKsnUserText, values))[0];
    },
    /**
     * Deletes one batch.
     *
     * @param from epoch milliseconds; skips the rows that earlier batches have kept
     * @returns where the next batch begins, undefined if none is left
     */
    async deleteOldBatch(from: number): Promise<number | undefined> {
      const values = [isoTime(clock.now() - retentionMs), batchSize, isoTime(from)];
      const rows = await database.query<{ used_at: Date }>(deleteOldKsnUsesText, values);
      if (rows.length < batchSize) return undefined;
      return Math.max(...rows.map((row) => row.used_at.getTime()));
    },
  };
}

export type KsnStore = ReturnType<typeof createKsnStore>;

/** @example const cleanupJob = createKsnCleanup(ksnStore); */
export function createKsnCleanup(ksnStore: Pick<KsnStore, 'deleteOldBatch'>): CleanupJob {
  let from = 0;
  return {
    data: 'key serial numbers',
    intervalMs: hourMs,
    async deleteBatch() {
      const next = await ksnStore.deleteOldBatch(from);
      from = next ?? 0;
      return next !== undefined;
    },
  };
}

const cardDataKsnPointer = '/instrument/encrypted/ksn';

/** @throws ProblemError ksn_reused, always */
export function throwReusedKsn(pointer = cardDataKsnPointer): never {
  const detail = 'The device has already used this KSN or a later one. The counter must increase.';
  return throwFieldProblem('ksn_reused', pointer, detail);
}

/** Digits of the keyed card hash in a KSN use: enough to distinguish two cards. */
export const cardFingerprintDigits = 16;

export type KsnUser = {
  organizationId: string;
  merchantId: string;
  /** Keyed hash of the card. */
  cardFingerprint: string;
  at: number;
  /** The client's identifier of the declined sale that this sale steps up. */
  stepUpOf?: string | undefined;
};

/**
 * Undefined if the device did not encrypt the card. Call it after decryption: a client without the key of the
 * device must not use up a KSN.
 *
 * @throws ProblemError encryption_key_unknown if the KSN format is unknown
 */
export function createKsnUse(
  request: Pick<ProcessRequest, 'clientTransactionId' | 'offlineTransaction' | 'instrument'>,
  { organizationId, merchantId, cardFingerprint, at, stepUpOf }: KsnUser,
): KsnUse | undefined {
  const { encrypted } = request.instrument;
  if (encrypted === undefined) return undefined;
  const userKey = (clientTransactionId: string) =>
    [merchantId, clientTransactionId, cardFingerprint.slice(0, cardFingerprintDigits)].join('|');
  try {
    const { device, counter } = readKsn(encrypted.ksn);
    return {
      organizationId,
      ksnDevicePart: device,
      counter,
      at,
      usedBy: userKey(request.clientTransactionId),
      takesOverFrom: stepUpOf === undefined ? undefined : userKey(stepUpOf),
      isOffline: request.offlineTransaction === true,
    };
  } catch (error) {
    if (!(error instanceof PinError)) throw error;
    return throwFieldProblem(
      'encryption_key_unknown',
      cardDataKsnPointer,
      'The KSN format is unknown.',
    );
  }
}

export type PinKsnUse = Pick<KsnUse, 'organizationId' | 'ksnDevicePart' | 'counter' | 'usedBy'> & {
  /** Until the PIN is translated, the use increases the counter of this merchant only. */
  merchantId: string;
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
  function toValues({ organizationId, ksnDevicePart, counter, usedBy }: PinKsnUse): unknown[] {
    return [organizationId, ksnDevicePart, counter, usedBy, isoTime(clock.now())];
  }
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
