// Shows one payment with all its data to a caller that may read reports.
import { type ReportedPaymentDetail, throwProblem } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { readTransactions, viewTransactionWithEvents } from '../../payments/index.ts';
import type { Queries } from '../../platform/index.ts';
import { readQrPayments, viewReportedQrPayment } from '../../qr/index.ts';
import { readReportScope } from '../infrastructure/report-scope.ts';

type PaymentEntities = {
  readonly merchantId: string;
  readonly storeId: string | undefined;
  readonly deviceId: string | undefined;
};

/** @throws ProblemError transaction_not_found, also for a payment outside the caller's scope */
export async function getPaymentDetail(
  queries: Queries,
  caller: Caller,
  transactionId: string,
): Promise<ReportedPaymentDetail> {
  const scope = readReportScope(caller, {});
  const { organizationId } = scope;
  const id = transactionId.toLowerCase();
  const isInScope = (row: PaymentEntities) =>
    (scope.merchantId === undefined || row.merchantId === scope.merchantId) &&
    (scope.storeId === undefined || row.storeId === scope.storeId) &&
    (scope.deviceId === undefined || row.deviceId === scope.deviceId);
  const [transaction] = await readTransactions(queries, organizationId, [id]);
  if (transaction !== undefined && isInScope(transaction.row)) {
    return { kind: 'Card', card: viewTransactionWithEvents(transaction) };
  }
  const [payment] = await readQrPayments(queries, organizationId, [id], { isWhole: true });
  if (payment !== undefined && isInScope(payment.loaded.row)) {
    return { kind: 'Qr', qr: viewReportedQrPayment(payment) };
  }
  return throwProblem('transaction_not_found', 'There is no payment with this identifier.');
}
