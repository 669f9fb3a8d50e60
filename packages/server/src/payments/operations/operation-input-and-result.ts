// The request and the result of an operation.
import type { ApprovalAttempt } from '../approvals/check-approval-code.ts';
import type { StoredOperation, TransactionRecord } from '../transaction/transaction.ts';

export type OperationInput = {
  amount?: number | undefined;
  currency?: string | undefined;
  final?: boolean | undefined;
  clientOperationId?: string | undefined;
  cancelReason?: 'Technical' | 'Functional';
  reversalReason?: string | undefined;
  /** The user of a refund or cancel by web. */
  actor?: string;
  /** DE55 of a reversal. */
  chipData?: string | undefined;
  /** Absent if no approval code applies. */
  approval?: ApprovalAttempt;
};

export type OperationResult = {
  transaction: TransactionRecord;
  /** Undefined if the operation had no effect. */
  operation: StoredOperation | undefined;
  replayed: boolean;
};
