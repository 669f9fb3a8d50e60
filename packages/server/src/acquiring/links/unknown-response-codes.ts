// Counts declines with a response code that the response code table does not contain.
import { responseCodeFacts } from '@switchyard/contract';
import type { Log, Metrics } from '../../platform/index.ts';
import type { AcquirerOutcome } from '../spi/acquirer-spi.ts';

/** Each code of a link is logged once, up to this number; the metric counts all. */
const maxLoggedCodes = 200;

export type UnknownCodeCounter = {
  countOutcome(linkId: string, outcome: AcquirerOutcome): void;
};

/** @example const unknownCodes = createUnknownCodes({ metrics, log }); unknownCodes.note(linkId, outcome); */
export function createUnknownCodeCounter({
  metrics,
  log,
}: {
  metrics: Metrics;
  log: Log;
}): UnknownCodeCounter {
  const loggedCodes = new Set<string>();
  const unknownCodesTotal = metrics.counter({
    name: 'switchyard_acquirer_unknown_codes_total',
    help: 'Responses with a response code that is not in the table',
    labelNames: ['link'],
  });
  return {
    countOutcome(linkId, outcome) {
      if (outcome.outcome !== 'Declined') return;
      const { responseCode } = outcome;
      if (responseCodeFacts(responseCode).known) return;
      unknownCodesTotal.inc({ link: linkId });
      const codeKey = `${linkId} ${responseCode}`;
      if (loggedCodes.has(codeKey) || loggedCodes.size >= maxLoggedCodes) return;
      loggedCodes.add(codeKey);
      log.error(
        { linkId, responseCode },
        'acquirer responded with an unknown response code; add it to the dialect table',
      );
    },
  };
}
