// The ledger of the reference provider: totals, checks, output, and comparison with the platform.
import { formatAmount } from '@switchyard/money';
import { readPaymentJournal } from './payment-journal.ts';
import { isOpen, isPaid, type Payment, refundTotals } from './payment-record.ts';

/** A payment in the ledger. */
export type QrLedgerPayment = {
  platformTransactionId: string;
  providerTransactionId: string;
  clientTransactionId: string;
  merchantId: string;
  scenario: Payment['scenario'];
  status: Payment['status'];
  /** Minor units. */
  amount: number;
  refunded: number;
  currency: string;
  /** Events that the platform has not acknowledged. */
  unsentEvents: number;
};

/** Sums of a merchant in a currency, in minor units; exact up to 2^53 - 1. */
export type QrLedgerTotals = {
  merchantId: string;
  currency: string;
  open: number;
  payments: number;
  paid: number;
  refunded: number;
  net: number;
};

/** The ledger of a reference provider. */
export type QrLedger = {
  payments: QrLedgerPayment[];
  totals: QrLedgerTotals[];
  /** Errors in the ledger; empty in a correct ledger. */
  faults: string[];
};

function entryOf(payment: Payment): QrLedgerPayment {
  const { platformTransactionId, providerTransactionId, clientTransactionId } = payment;
  const { merchantId, scenario, status, amount, currency, unsent } = payment;
  return {
    platformTransactionId,
    providerTransactionId,
    clientTransactionId,
    merchantId,
    scenario,
    status,
    amount,
    currency,
    refunded: refundTotals(payment).done,
    unsentEvents: unsent.length,
  };
}

function faultsOf(payment: Payment): string[] {
  const { platformTransactionId: id, amount, refunds, status } = payment;
  const { done, claimed } = refundTotals(payment);
  const names = new Set(refunds.map(({ refundId }) => refundId));
  return [
    ...(claimed > amount ? [`${id}: more is refunded than was paid`] : []),
    ...(done > 0 && !isPaid(payment) ? [`${id}: refunded, and ${status}`] : []),
    ...(names.size < refunds.length ? [`${id}: a refund was made twice`] : []),
  ];
}

function totalsOf(payments: readonly Payment[]): QrLedgerTotals[] {
  const totals = new Map<string, QrLedgerTotals>();
  for (const payment of payments) {
    const { merchantId, currency, amount } = payment;
    const key = `${merchantId} ${currency}`;
    const empty = { open: 0, payments: 0, paid: 0, refunded: 0, net: 0 };
    const sums = totals.get(key) ?? { merchantId, currency, ...empty };
    totals.set(key, sums);
    if (isOpen(payment)) sums.open += 1;
    if (!isPaid(payment)) continue;
    const { done } = refundTotals(payment);
    sums.payments += 1;
    sums.paid += amount;
    sums.refunded += done;
    sums.net += amount - done;
  }
  return [...totals.values()];
}

/** Leaves out payments that were cancelled before their request came: their merchant is unknown. */
export function ledgerOf(payments: Iterable<Payment>): QrLedger {
  const realPayments = [...payments].filter(({ fingerprint }) => fingerprint !== '');
  return {
    payments: realPayments.map(entryOf),
    totals: totalsOf(realPayments),
    faults: realPayments.flatMap(faultsOf),
  };
}

/**
 * Reads the ledger of a directory, also while its provider runs.
 *
 * @param dataDir directory of the provider
 * @returns payments in their order of arrival, totals, and errors
 * @throws Error where the files cannot be read
 * @example
 * readQrLedger('qr-provider').totals; // [{ merchantId, currency, paid: 1050, refunded: 0, net: 1050, … }]
 */
export function readQrLedger(dataDir: string): QrLedger {
  return ledgerOf(readPaymentJournal(dataDir).values());
}

/** A payment as the platform reports it. */
export type PlatformPayment = {
  transactionId: string;
  status: string;
  amount: number;
  currency: string;
  refunded: number;
};

/**
 * Compares the ledger with the payments of the platform: status, amount and refunded amount.
 *
 * @param ledger the ledger of the provider
 * @param platformPayments the payments of the platform
 * @returns a line for each difference; empty where both agree
 * @example
 * differencesOf(readQrLedger(dataDir), transactions); // []
 */
export function qrLedgerDifferences(
  ledger: QrLedger,
  platformPayments: Iterable<PlatformPayment>,
): string[] {
  const byTransaction = new Map([...platformPayments].map((one) => [one.transactionId, one]));
  const differences: string[] = [];
  for (const payment of ledger.payments) {
    const platformPayment = byTransaction.get(payment.platformTransactionId);
    byTransaction.delete(payment.platformTransactionId);
    const providerText = `${payment.status} ${payment.amount} ${payment.currency}, refunded ${payment.refunded}`;
    const platformText =
      platformPayment === undefined
        ? 'not there'
        : `${platformPayment.status} ${platformPayment.amount} ${platformPayment.currency}, refunded ${platformPayment.refunded}`;
    if (providerText !== platformText)
      differences.push(`${payment.platformTransactionId}: ${providerText}; there: ${platformText}`);
  }
  const paidStatuses = ['Completed', 'PartiallyRefunded', 'Refunded'];
  for (const { transactionId, status } of byTransaction.values()) {
    if (paidStatuses.includes(status))
      differences.push(`${transactionId}: not here; there: ${status}`);
  }
  return differences;
}

const idWidth = 36;

/** Formats the totals and the last payments as text. */
export function formatQrLedger({ totals, payments, faults }: QrLedger, last: number): string {
  const lines = [
    'merchant                              open  paid  sum, refunded, net',
    ...totals.map(({ merchantId, open, payments: count, paid, refunded, net, currency }) => {
      const money = [paid, refunded, net].map((sum) => formatAmount(sum, currency)).join(', ');
      return `${merchantId.padEnd(idWidth)}  ${String(open).padStart(4)}  ${String(count).padStart(4)}  ${money}`;
    }),
    '',
    'payment                               status             amount, refunded',
    ...payments.slice(-last).map((payment) => {
      const { platformTransactionId, status, amount, refunded, currency, unsentEvents } = payment;
      const money = [amount, refunded].map((sum) => formatAmount(sum, currency)).join(', ');
      const unsent = unsentEvents === 0 ? '' : `  ${unsentEvents} events unsent`;
      return `${platformTransactionId.padEnd(idWidth)}  ${status.padEnd(17)}  ${money}${unsent}`;
    }),
    '',
    ...(faults.length === 0 ? ['in balance'] : faults.map((fault) => `FAULT ${fault}`)),
  ];
  return `${lines.join('\n')}\n`;
}
