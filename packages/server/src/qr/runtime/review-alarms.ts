// Reports QR payments that need manual review, in the log and in metrics, without payment data.
import type { Database, Log, Metrics } from '../../platform/index.ts';
import type { QrKey } from '../transaction/records.ts';

export type AlarmReason =
  | 'amount_differs'
  | 'contradiction'
  | 'refund_declined'
  | 'refund_unanswered'
  | 'cancel_unanswered';

export type ReviewAlarms = {
  raise(reason: AlarmReason, payment: QrKey): void;
  /** Counts a payment that has reached a final status. */
  countOutcome(outcome: string): void;
};

const underReviewText = 'SELECT count(*)::int AS held FROM qr_transactions WHERE hold IS NOT NULL';

/** @example const alarms = createReviewAlarms({ database, log, metrics }); */
export function createReviewAlarms({
  database,
  log,
  metrics,
}: {
  database: Database;
  log: Log;
  metrics: Metrics;
}): ReviewAlarms {
  const reviewCounter = metrics.counter({
    name: 'switchyard_qr_manual_review_total',
    help: 'Alarms about QR payments, by reason; after cancel_unanswered or contradiction the payment is not always on hold',
    labelNames: ['reason'],
  });
  const outcomeCounter = metrics.counter({
    name: 'switchyard_qr_payments_total',
    help: 'QR payments by outcome',
    labelNames: ['outcome'],
  });
  metrics.gauge({
    name: 'switchyard_qr_manual_review',
    help: 'QR payments that wait for manual review',
    async collect() {
      const rows = await database.query<{ held: number }>(underReviewText).catch(() => []);
      const [row] = rows;
      if (row !== undefined) this.set(row.held);
    },
  });
  return {
    raise(reason, { organizationId, transactionId }) {
      reviewCounter.inc({ reason });
      log.error({ reason, organizationId, transactionId }, 'a QR payment needs manual review');
    },
    countOutcome: (outcome) => outcomeCounter.inc({ outcome }),
  };
}
