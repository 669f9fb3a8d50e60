// Metrics of payments: outcomes of sales, and the time until a reversal is finished.
import type { Acquiring } from '../../acquiring/index.ts';
import type { Metrics } from '../../platform/index.ts';
import {
  authorizationContext,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';

const saleOutcomes = ['Approved', 'Declined', 'NotSent', 'Reversed', 'Unknown'] as const;
type SaleOutcome = (typeof saleOutcomes)[number];
type SaleLabels = { readonly link: string; readonly outcome: SaleOutcome };

/** The host answered, but the platform cannot accept its response. */
const reasonsWithResponse: ReadonlySet<string> = new Set([
  'PartialApproval',
  'Duplicate',
  'Undecided',
]);

/** From one message to an outage of the acquirer for a day. */
const reversalBucketsSeconds = [1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400];

export type PaymentMetrics = {
  /** Counts a sale that has ended. */
  countSale(sale: TransactionRecord): void;
  /** Records the duration of a reversal; other operations are ignored. */
  recordFinished(transaction: TransactionRecord, operation: StoredOperation, at: number): void;
};

function outcomeOf({ row, operations }: TransactionRecord): SaleOutcome {
  switch (row.position.phase) {
    case 'Approved':
    case 'AwaitingConfirmation':
      return 'Approved';
    case 'Declined':
      return 'Declined';
    case 'Failed':
      return 'NotSent';
    default: {
      const reason = operations.at(-1)?.details.systemReversalReason ?? '';
      return reasonsWithResponse.has(reason) ? 'Reversed' : 'Unknown';
    }
  }
}

/** @example const paymentMetrics = createPaymentMetrics({ metrics, acquiring }); paymentMetrics.countSale(sale); */
export function createPaymentMetrics({
  metrics,
  acquiring,
}: {
  metrics: Metrics;
  acquiring: Pick<Acquiring, 'listLinkHealth'>;
}): PaymentMetrics {
  // Plain numbers: a call of prom-client takes some microseconds of each sale.
  const totals = new Map<string, { readonly labels: SaleLabels; count: number }>();
  metrics.counter({
    name: 'switchyard_sales_total',
    help: 'Card sales and authorizations by acquirer link and outcome; Reversed: the host responded, but the sale is not valid; Unknown: no response',
    labelNames: ['link', 'outcome'],
    collect() {
      this.reset();
      // An increase of a series that does not exist yet is not visible.
      for (const { linkId: link } of acquiring.listLinkHealth())
        for (const outcome of saleOutcomes) this.inc({ link, outcome }, 0);
      for (const { labels, count } of totals.values()) this.inc(labels, count);
    },
  });
  const reversals = metrics.histogram({
    name: 'switchyard_reversal_duration_seconds',
    help: 'Time from the decision to reverse a sale until the acquirer has accepted it, or a user has resolved it',
    labelNames: ['link'],
    buckets: reversalBucketsSeconds,
  });
  return {
    countSale(sale) {
      const { linkId: link } = authorizationContext(sale);
      const outcome = outcomeOf(sale);
      const key = `${link} ${outcome}`;
      const total = totals.get(key);
      if (total === undefined) totals.set(key, { labels: { link, outcome }, count: 1 });
      else total.count += 1;
    },
    recordFinished(transaction, { kind, createdAt }, at) {
      if (kind !== 'Reversal') return;
      const { linkId: link } = authorizationContext(transaction);
      reversals.observe({ link }, Math.max(0, at - Date.parse(createdAt)) / 1000);
    },
  };
}
