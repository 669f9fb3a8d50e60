// Makes the next step of a transaction: new amounts, the event that says so, and what they become.
import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { apply, type Changes, stateOf } from './state-machine.ts';
import type {
  Change,
  ClearingEntry,
  EventData,
  JobRequest,
  LoadedTransaction,
  StoredOperation,
  TransactionRow,
} from './transaction.ts';

export type Step = {
  /** Epoch ms. */
  at: number;
  type: string;
  changes: Changes;
  data?: Omit<EventData, 'state' | 'changes' | 'operation'>;
  operation?: StoredOperation;
  job?: JobRequest;
  clearing?: ClearingEntry;
};

/** The change that a step is, guarded by the version it was judged on. Pure. */
export function changeOf(before: TransactionRow, step: Step): Change {
  const position = apply(before.position, step.changes);
  const state = stateOf(position);
  const at = isoTime(step.at);
  const { operation } = step;
  const data: EventData = { ...step.data, state, changes: step.changes };
  if (operation !== undefined) {
    const { operationId, number, kind, status } = operation;
    data.operation = { operationId, number, kind, status };
  }
  return {
    before,
    after: {
      ...before,
      position,
      state,
      version: before.version + 1,
      operationCount: Math.max(before.operationCount, operation?.number ?? 0),
      updatedAt: at,
    },
    event: { sequence: before.version + 1, type: step.type, at, data },
    ...defined({ operation, job: step.job, clearing: step.clearing }),
  };
}

/** The transaction as it stands once a change is durable, without reading it again. */
export function after(loaded: LoadedTransaction, change: Change): LoadedTransaction {
  const { operation } = change;
  const others = loaded.operations.filter((each) => each.number !== operation?.number);
  return {
    row: change.after,
    events: [...loaded.events, change.event],
    operations: operation === undefined ? others : [...others, operation],
  };
}
