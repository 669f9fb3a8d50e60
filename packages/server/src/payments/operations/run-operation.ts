// Runs captures, refunds, cancels and reversals: reserves the amount, calls the acquirer, stores the outcome.
import { throwProblem } from '@switchyard/contract';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { Log, Numbering } from '../../platform/index.ts';
import type { Vault } from '../../vault/index.ts';
import {
  DuplicateOperationId,
  type RecentTransactions,
} from '../repository/transaction-repository.ts';
import { throwConcurrentModification } from '../repository/update-with-retry.ts';
import {
  logNotSent,
  reportProblemsAsUnknown,
} from '../runtime/message-reference-and-unknown-outcome.ts';
import { throwNotSent } from '../runtime/throw-not-sent.ts';
import type { OperationType } from '../transaction/state-machine.ts';
import {
  authorizationContext,
  operationByNumber,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { usesClearingFile } from '../transaction/transition.ts';
import type { OperationInput, OperationResult } from './operation-decision.ts';
import {
  findExistingResult,
  type IdempotencyPorts,
  OtherOperationTypeTaken,
} from './operation-idempotency.ts';
import { type ReservationPorts, reserveAmount } from './reserve-amount.ts';
import { type SendPorts, sendOperation } from './send-operation.ts';
import { type StoreOutcomePorts, storeOperationOutcome } from './store-operation-outcome.ts';

export type SystemOperationPorts = ReservationPorts &
  SendPorts &
  StoreOutcomePorts & {
    vault: Pick<Vault, 'wasDeleted'>;
    log: Pick<Log, 'debug'>;
    numbering: Pick<Numbering, 'isAvailable'>;
    /** Absent when this process publishes no transaction events. */
    recentTransactions?: Pick<RecentTransactions, 'add'> | undefined;
  };

export type OperationPorts = SystemOperationPorts & IdempotencyPorts;

/** @throws ProblemError of the state, the amount or the configuration, acquirer_unavailable and not_sent */
export async function runOperation(
  ports: OperationPorts,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
): Promise<OperationResult> {
  const existingResult = await findExistingResult(ports, transaction, operationType, input);
  if (existingResult !== undefined) return existingResult;
  await requireStoredCard(ports, transaction);
  try {
    return await reserveAndSend(ports, transaction, operationType, input);
  } catch (error) {
    if (!(error instanceof DuplicateOperationId)) throw error;
    const result = await findExistingResult(ports, transaction, operationType, input);
    if (result !== undefined) return result;
    // By web a cancel may have the identifier of the refund, perhaps of another transaction.
    if (input.actor !== undefined) throw new OtherOperationTypeTaken();
    return throwConcurrentModification();
  }
}

/** Runs a capture of the platform, with an identifier that no client can send. */
export async function runSystemOperation(
  ports: SystemOperationPorts,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput & { clientOperationId: string },
): Promise<OperationResult> {
  const operation = transaction.operations.find(
    (each) => each.clientOperationId === input.clientOperationId,
  );
  if (operation !== undefined) return { transaction, operation, replayed: true };
  if (!usesClearingFile(transaction, operationType)) await requireStoredCard(ports, transaction);
  return reserveAndSend(ports, transaction, operationType, input);
}

/** An operation without a final response stays Pending; the retry job sends it again. */
async function reserveAndSend(
  ports: SystemOperationPorts,
  initial: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
): Promise<OperationResult> {
  const { needsSending, result } = await reserveAmount(ports, initial, operationType, input);
  const { transaction, operation } = result;
  ports.recentTransactions?.add(transaction);
  if (!needsSending || operation === undefined) return result;
  const { span } = input;
  ports.failPoints.hit('after-intent');
  // After this time the crash recovery may have scheduled the retry.
  const isPastSendDeadline = ports.clock.now() > operation.deadline - ports.acquirerTimeoutMs;
  // The reservation may be in a restored database, which lacks the same operation of before.
  const isSendable = !isPastSendDeadline && ports.numbering.isAvailable();
  const outcome: AcquirerOutcome = isSendable
    ? await reportProblemsAsUnknown(
        sendOperation(ports, transaction, operation, { isRepeat: false, span }),
      )
    : { outcome: 'NotSent', reason: 'send deadline has passed, or the database was restored' };
  const { operationNumber } = operation;
  const { transactionId } = transaction.row;
  logNotSent(ports, outcome, { transactionId, operationNumber }, span);
  const stored = await reportProblemsAsUnknown(
    storeOperationOutcome(ports, transaction, operationNumber, outcome, { isRepeat: false, span }),
  );
  ports.recentTransactions?.add(stored.transaction);
  const storedOperation = operationByNumber(stored.transaction, operationNumber);
  if (outcome.outcome === 'NotSent' && storedOperation?.status === 'Failed')
    throwNotSent('clientOperationId');
  return { transaction: stored.transaction, operation: storedOperation, replayed: false };
}

/** `wasDeleted` queries the database only for sales older than the retention period. */
async function requireStoredCard(
  { vault }: Pick<SystemOperationPorts, 'vault'>,
  transaction: TransactionRecord,
): Promise<void> {
  const { organizationId, createdAt } = transaction.row;
  const { token } = authorizationContext(transaction).card;
  if (!(await vault.wasDeleted(organizationId, token, Date.parse(createdAt)))) return;
  throwProblem(
    'card_token_unknown',
    'The stored card of this sale was deleted after its retention period.',
  );
}
