// Makes a capture a line of the next clearing file: durable with the reservation, and sent to nobody.
import { isoTime } from '../../platform/index.ts';
import { settlementDayOf } from './contract-terms.ts';
import type { Verb } from './state-machine.ts';
import { factsOf, type LoadedTransaction, outcomeOf } from './transaction.ts';
import type { Step } from './transition.ts';

/** Whether an operation goes into a file in place of a message. */
export function isFiled(loaded: LoadedTransaction, verb: Verb): boolean {
  return verb === 'Capture' && factsOf(loaded).captureTransport === 'File';
}

/** The step of a capture that waits for the acknowledgement of a file. */
export function filedStep(loaded: LoadedTransaction, step: Step): Step {
  const facts = factsOf(loaded);
  const { operation } = step;
  if (operation === undefined) throw new Error('a capture without its operation');
  const { date, endsAt } = settlementDayOf(facts, step.at);
  const { reference, final = false } = operation.details;
  return {
    ...step,
    data: { ...step.data, reason: 'ClearingFile', settlementDate: date },
    operation: {
      ...operation,
      status: 'Filed',
      details: { ...operation.details, settlementDate: date },
    },
    clearing: {
      linkId: facts.linkId,
      settlementDate: date,
      dueAt: isoTime(endsAt),
      line: {
        settlementDate: date,
        merchantNumber: facts.merchantNumber,
        amount: operation.amount,
        currency: loaded.row.currency,
        final,
        reference,
        original: facts.reference,
        authorizationCode: outcomeOf(loaded)?.authorizationCode ?? '',
        maskedNumber: facts.card.maskedNumber,
      },
    },
  };
}
