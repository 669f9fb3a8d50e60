// Decides which operations a transaction allows, and with which amounts.
import {
  type AllowedOperation,
  defined,
  type ErrorCode,
  errorCodes,
  fieldError,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import type { Clock, Span } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { ApprovalAttempt } from '../approvals/check-approval-code.ts';
import { isAuthorizationExpired } from '../transaction/settlement-and-expiry.ts';
import {
  type ContractTerms,
  calculateOverCaptureAllowance,
  checkAllowed,
  confirmRuleFor,
  hasReservation,
  type OperationType,
  type Position,
  remainingAuthorized,
  reversibleAmount,
} from '../transaction/state-machine.ts';
import {
  authorizationContext,
  type StoredOperation,
  type TransactionRecord,
  type TransactionRow,
  transactionSummary,
} from '../transaction/transaction.ts';

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
  /** Of the request or the job. */
  span?: Span | undefined;
};

export type OperationResult = {
  transaction: TransactionRecord;
  /** Undefined if the operation had no effect. */
  operation: StoredOperation | undefined;
  replayed: boolean;
};

export type ContractPorts = { provisioning: Pick<Provisioning, 'findContract'>; dueClock: Clock };

export async function getContractTerms(
  { provisioning, dueClock }: ContractPorts,
  transaction: TransactionRecord,
): Promise<ContractTerms> {
  const { organizationId, contractId, overCaptureAllowance, position } = transaction.row;
  const contract = await provisioning.findContract(organizationId, contractId);
  if (contract === undefined)
    throw new Error('the acquirer contract of the transaction does not exist');
  const { partialCancel, multipleCapture, overCapturePercent } = contract;
  const context = authorizationContext(transaction);
  // The approved amount may be lower than the requested amount, on which `overCaptureAllowance` is based.
  const allowance = calculateOverCaptureAllowance(position.authorized, overCapturePercent);
  return {
    partialCancel,
    multipleCapture,
    overCaptureAllowance: Math.min(overCaptureAllowance, allowance),
    isAuthorizationExpired: isAuthorizationExpired(transaction, context, dueClock.now()),
  };
}

const amountExceededCodes: Readonly<Record<OperationType, ErrorCode>> = {
  Capture: 'capture_amount_exceeded',
  Cancel: 'cancel_amount_exceeded',
  Reversal: 'partial_reversal_not_supported',
  Refund: 'refund_amount_exceeded',
};

/** Allowed operations with maximum amounts, for `allowedoperations` and for conflict errors. */
export function allowedOperations(row: TransactionRow, terms: ContractTerms): AllowedOperation[] {
  const operationTypes: OperationType[] = ['Capture', 'Refund', 'Cancel', 'Reversal'];
  const { position, currency } = row;
  const results: AllowedOperation[] = operationTypes.map((operation) => {
    const result = checkAllowed(position, operation, terms);
    const refused = { operation, allowed: false, maxAmount: 0, currency } as const;
    if (!result.allowed) return { ...refused, reason: result.reason };
    const maxAmount = maxAmountOf(row, result);
    if (maxAmount > 0 || isFullSaleRule(result.mode))
      return { operation, allowed: true, maxAmount, currency };
    // The state allows the operation, but no amount is left or nothing needs to be done.
    const reason = operation === 'Reversal' ? 'already_cancelled' : amountExceededCodes[operation];
    return { ...refused, reason };
  });
  if (confirmRuleFor(position) !== 'Confirm') return results;
  const maxAmount = reversibleAmount(position);
  return [...results, { operation: 'Confirm', allowed: true, maxAmount, currency }];
}

/** The operation applies to the full sale, also while its approved amount is unknown. */
const isFullSaleRule = (rule: string): boolean => rule === 'AfterOutcome' || rule === 'VoidLocally';

const maxAmountOf = (row: TransactionRow, result: { mode: string; maxAmount: number }): number =>
  isFullSaleRule(result.mode) ? row.amount : result.maxAmount;

const conflictExtensions = (transaction: TransactionRecord, terms: ContractTerms) => ({
  transaction: transactionSummary(transaction),
  allowedOperations: allowedOperations(transaction.row, terms),
});

/** A client polls the pending operation in the same interval. */
const retryAfterMs = 2000;

/** @throws ProblemError with the allowed operations, and with the time of the next attempt if there is one */
export function throwStateProblem(
  code: ErrorCode,
  detail: string,
  transaction: TransactionRecord,
  terms: ContractTerms,
): never {
  return throwProblem(code, detail, {
    extensions: conflictExtensions(transaction, terms),
    ...defined({ retryAfterMs: errorCodes[code].retryable ? retryAfterMs : undefined }),
  });
}

export type OperationDecision = {
  /** Minor units. */
  amount: number;
  /** Sent after the outcome of the sale. */
  isAfterOutcome: boolean;
  isFinal: boolean;
  /** No message to the acquirer is needed. */
  isVoidedLocally: boolean;
};

/**
 * Decides about an operation: the state first, then the amount, then the configuration.
 *
 * @returns the amount to reserve, or that nothing must be done
 * @throws ProblemError of the state, the amount or the configuration, with what is allowed instead
 */
export function decideOperation(
  transaction: TransactionRecord,
  operationType: OperationType,
  request: OperationInput,
  terms: ContractTerms,
): OperationDecision | 'NoOp' | 'ReturnExisting' {
  const { row } = transaction;
  if (request.currency !== undefined && request.currency !== row.currency) {
    throwFieldProblem('currency_mismatch', '/currency', `The transaction is in ${row.currency}.`);
  }
  const result = checkAllowed(row.position, operationType, terms);
  if (!result.allowed) {
    const detail = `${operationType} is not possible now. The state of the transaction is ${row.state}.`;
    throwStateProblem(result.reason, detail, transaction, terms);
  }
  if (result.mode === 'NoOp' || result.mode === 'ReturnExisting') return result.mode;
  const maxAmount = maxAmountOf(row, result);
  const amount = operationAmount(row, operationType, request, maxAmount);
  if (amount === undefined || amount > maxAmount) {
    const remainingText = `The maximum amount is ${maxAmount} minor units (${row.currency}).`;
    throwProblem(amountExceededCodes[operationType], remainingText, {
      extensions: { ...conflictExtensions(transaction, terms), maxAmount },
      ...fieldError('/amount', 'too_large', remainingText),
    });
  }
  const isVoidedLocally = result.mode === 'VoidLocally';
  const isFullOnly = isVoidedLocally || !terms.partialCancel;
  if (operationType === 'Cancel' && amount < maxAmount && isFullOnly) {
    throwProblem(
      'partial_cancel_not_supported',
      'The acquirer contract does not allow partial cancellation. Cancel the full amount.',
      { extensions: conflictExtensions(transaction, terms) },
    );
  }
  const isFinal =
    operationType === 'Capture' && isFinalCapture(row.position, request, amount, terms);
  if (isFinal && hasReservation(row.position)) {
    const detail =
      'A final capture is not possible while another operation has no response. Retry later.';
    throwStateProblem('transaction_in_progress', detail, transaction, terms);
  }
  return { amount, isAfterOutcome: result.mode === 'AfterOutcome', isFinal, isVoidedLocally };
}

/** Undefined if the amount is not valid: a reversal applies to the full sale. */
function operationAmount(
  { position }: TransactionRow,
  operationType: OperationType,
  request: OperationInput,
  maxAmount: number,
): number | undefined {
  const { captureReserved, cancelReserved } = position;
  const remaining = remainingAuthorized(position) - captureReserved - cancelReserved;
  // The over-capture allowance applies only to an amount that the client sends.
  const defaultAmount = operationType === 'Capture' ? Math.min(maxAmount, remaining) : maxAmount;
  const amount = request.amount ?? defaultAmount;
  const isValid = operationType === 'Reversal' ? amount === maxAmount : amount > 0;
  return isValid ? amount : undefined;
}

function isFinalCapture(
  position: Position,
  request: OperationInput,
  amount: number,
  { multipleCapture }: ContractTerms,
): boolean {
  if (multipleCapture) {
    // A pending operation can fail, and its amount can then be captured.
    const isLast = amount >= remainingAuthorized(position) && !hasReservation(position);
    return request.final ?? isLast;
  }
  if (request.final === false) {
    throwFieldProblem(
      'multiple_capture_not_supported',
      '/final',
      'The acquirer contract allows one capture for each sale: every capture is final.',
    );
  }
  return true;
}
