// Voids an offline sale before its submission. No message to the acquirer is needed.
import type { Transition } from './transition.ts';

/** Finishes the void or the reversal in the commit of its reservation. */
export function voidUnsubmittedSale({ job: _job, ...transition }: Transition): Transition {
  const { operation } = transition;
  if (operation === undefined) throw new Error('the void of an offline sale has no operation');
  const isReversal = operation.kind === 'Reversal';
  return {
    ...transition,
    type: isReversal ? 'transaction.reversed' : 'transaction.cancelled',
    changes: { phase: isReversal ? 'Reversed' : 'Cancelled' },
    operation: { ...operation, status: 'Succeeded' },
  };
}
