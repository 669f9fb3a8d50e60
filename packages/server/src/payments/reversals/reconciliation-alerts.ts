// Alerts for cases that a person must compare with the records of the acquirer.
import { responseCodeFacts } from '@switchyard/contract';
import type { AcquirerOutcome, AcquirerRequestKind } from '../../acquiring/index.ts';
import type { Log } from '../../platform/index.ts';
import {
  manualResolutionReason,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { findRule, manualResolutionRules, messageConditions } from './operation-outcome.ts';

type AlertPorts = { log: Pick<Log, 'error'> };

/** Another terminal may use the same reference numbers. */
export function alertReferenceCollision(
  { log }: AlertPorts,
  message: { transactionId: string; operationNumber?: number },
): void {
  log.error(
    message,
    'the acquirer reports a duplicate for the first message with these references',
  );
}

const alertMessages = {
  Contradiction: 'the acquirer response contradicts the manual resolution',
  PossiblyProcessed:
    'an operation that was resolved as not done may have been processed by the acquirer',
} as const;

/** A user resolved the operation while its last message was on its way. */
export function alertContradiction(
  { log }: AlertPorts,
  operation: StoredOperation,
  { outcome, isRepeat }: { outcome: AcquirerOutcome; isRepeat: boolean },
  transactionId: string,
): void {
  const { operationNumber, status, details } = operation;
  if (details.response?.reason !== manualResolutionReason) return;
  const resolvedAs = status === 'Succeeded' ? 'Succeeded' : 'Declined';
  const conditions = { ...messageConditions(operation, outcome, isRepeat), resolvedAs } as const;
  const alert = findRule(manualResolutionRules, conditions).result;
  if (alert !== 'None') log.error({ transactionId, operationNumber, status }, alertMessages[alert]);
}

/** A late approval names only the kind of its message, not the operation. */
export function alertLateContradiction(
  { log }: AlertPorts,
  { row: { transactionId }, operations }: TransactionRecord,
  { kind, responseCode }: { kind: AcquirerRequestKind; responseCode: string },
): void {
  if (!responseCodeFacts(responseCode).approved) return;
  const operationType = kind === 'Reversal' ? 'Cancel' : kind;
  const resolvedOperation = operations.find(
    ({ details, ...each }) =>
      each.kind === operationType &&
      each.status === 'Declined' &&
      details.response?.reason === manualResolutionReason,
  );
  if (resolvedOperation === undefined) return;
  const { operationNumber, status } = resolvedOperation;
  const members = { transactionId, operationNumber, status, isLate: true };
  log.error(members, alertMessages.Contradiction);
}
