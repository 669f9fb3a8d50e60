// Counts answers with a code that nobody has put into the table: declined, and somebody has to look.
import { responseCodeFacts } from '@switchyard/contract';
import type { Log, Metrics } from '../../platform/index.ts';
import type { AcquirerOutcome } from '../spi/acquirer-spi.ts';

/** Codes of links that are told to the log, each once; the counter goes on. */
const toldMax = 200;

export type UnknownCodes = {
  note(linkId: string, outcome: AcquirerOutcome): void;
};

/** @example const unknownCodes = createUnknownCodes({ metrics, log }); unknownCodes.note(linkId, outcome); */
export function createUnknownCodes({ metrics, log }: { metrics: Metrics; log: Log }): UnknownCodes {
  const told = new Set<string>();
  const answers = metrics.counter({
    name: 'switchyard_acquirer_unknown_codes_total',
    help: 'Answers of a link with a code that is not in the table',
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
        'an acquirer answers with a code that is not in the table',
      );
    },
  };
}
