// Reports QR payments that need manual review, in the log and in metrics, without payment data.
import type { Database, Log, Metrics } from '../../platform/index.ts';
import type { QrKey } from '../transaction/records.ts';

export type AlarmReason =
  | 'amount_differs'
  | 'contradiction'
  | 'refund_declined'
  | 'refund_unanswered'
  | 'cancel_unanswered';

export type Alarms = {
  raise(reason: AlarmReason, of: QrKey): void;
  /** Counts a payment that has reached a final status. */
  count(outcome: string): void;
};

const heldText = 'SELECT count(*)::int AS held FROM qr_transactions WHERE hold IS NOT NULL';

/** @example const alarms = createAlarms({ database, log, metrics }); */
export function createAlarms({
  database,
  log,
  metrics,
}: {
  database: Database;
  log: Log;
  metrics: Metrics;
}): Alarms {
  const alarms = metrics.counter({
    name: 'switchyard_qr_manual_review_total',
    help: 'QR payments that were sent to manual review, by reason',
    labelNames: ['reason'],
  });
  const payments = metrics.counter({
    name: 'switchyard_qr_payments_total',
    help: 'QR payments by outcome',
    labelNames: ['outcome'],
  });
  metrics.gauge({
    name: 'switchyard_qr_manual_review',
    help: 'QR payments that wait for manual review',
    async collect() {
      const rows = await database.query<{ held: number }>(heldText).catch(() => []);
      const [row] = rows;
      if (row !== undefined) this.set(row.held);
    },
  });
  return {
    raise(reason, { organizationId, transactionId }) {
      alarms.inc({ reason });
      log.error({ reason, organizationId, transactionId }, 'a QR payment needs somebody');
    },
    count: (outcome) => payments.inc({ outcome }),
  };
}
