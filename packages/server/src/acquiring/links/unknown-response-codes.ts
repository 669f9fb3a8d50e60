// Counts declines with a response code that the response code table does not contain.
import { responseCodeFacts } from '@switchyard/contract';
import type { Log, Metrics } from '../../platform/index.ts';
import type { AcquirerOutcome } from '../spi/acquirer-spi.ts';

/** Each code of a link is logged once, up to this number; the metric counts all. */
const toldMax = 200;

export type UnknownCodes = {
  note(linkId: string, outcome: AcquirerOutcome): void;
};

/** @example const unknownCodes = createUnknownCodes({ metrics, log }); unknownCodes.note(linkId, outcome); */
export function createUnknownCodes({ metrics, log }: { metrics: Metrics; log: Log }): UnknownCodes {
  const told = new Set<string>();
  const answers = metrics.counter({
    name: 'switchyard_acquirer_unknown_codes_total',
    help: 'Responses with a response code that is not in the table',
    labelNames: ['link'],
  });
  return {
    note(linkId, outcome) {
      if (outcome.outcome !== 'Declined') return;
      const { responseCode } = outcome;
      if (responseCodeFacts(responseCode).known) return;
      answers.inc({ link: linkId });
      const name = `${linkId} ${responseCode}`;
      if (told.has(name) || told.size >= toldMax) return;
      told.add(name);
      log.error(
        { linkId, responseCode },
        'acquirer responded with an unknown response code; add it to the dialect table',
      );
    },
  };
}
