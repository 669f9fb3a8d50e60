// Takes an offline sale back before the acquirer was asked: nothing needs to be sent, so it ends at once.
import type { Step } from './transition.ts';

/** The step of a void or a reversal, ended with its own commit. */
export function withdrawnStep({ job: _job, operation, ...step }: Step): Step {
  if (operation === undefined) throw new Error('nothing takes the sale back');
  const isReversal = operation.kind === 'Reversal';
  return {
    ...step,
    type: isReversal ? 'transaction.reversed' : 'transaction.cancelled',
    changes: { phase: isReversal ? 'Reversed' : 'Cancelled' },
    operation: { ...operation, status: 'Succeeded' },
  };
}
