// Applies a transition to a transaction: amounts, event and state.
import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { applyPositionChanges, deriveState, type PositionChanges } from './state-machine.ts';
import type {
  ClearingEntry,
  EventData,
  JobRequest,
  StoredOperation,
  TransactionChange,
  TransactionRecord,
  TransactionRow,
} from './transaction.ts';

export type Transition = {
  /** Epoch ms. */
  at: number;
  type: string;
  changes: PositionChanges;
  data?: Omit<EventData, 'state' | 'changes' | 'operation'>;
  operation?: StoredOperation;
  job?: JobRequest;
  clearing?: ClearingEntry;
};

/** The update checks the version on which the decision was made. */
export function applyTransition(before: TransactionRow, transition: Transition): TransactionChange {
  const position = applyPositionChanges(before.position, transition.changes);
  const state = deriveState(position);
  const version = before.version + 1;
  const at = isoTime(transition.at);
  const { operation, job, clearing, changes } = transition;
  const data: EventData = { ...transition.data, state, changes };
  if (operation !== undefined) {
    const { operationId, operationNumber, kind, status } = operation;
    data.operation = { operationId, number: operationNumber, kind, status };
  }
  return {
    before,
    after: {
      ...before,
      position,
      state,
      version,
      operationCount: Math.max(before.operationCount, operation?.operationNumber ?? 0),
      updatedAt: at,
    },
    event: { sequence: version, type: transition.type, at, data },
    ...defined({ operation, job, clearing }),
  };
}

/** The transaction after a committed change, without a new read. */
export function withChange(
  transaction: TransactionRecord,
  change: TransactionChange,
): TransactionRecord {
  const { operation } = change;
  const otherOperations = transaction.operations.filter(
    (each) => each.operationNumber !== operation?.operationNumber,
  );
  return {
    row: change.after,
    events: [...transaction.events, change.event],
    operations: operation === undefined ? otherOperations : [...otherOperations, operation],
  };
}
