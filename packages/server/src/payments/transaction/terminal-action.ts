// What an acquirer's answer means for the terminal: approve, decline, or try another way.
import {
  defined,
  noAnswer,
  type ResponseSummary,
  responseCodeFacts,
  type Transaction,
} from '@switchyard/contract';
import type { State } from './state-machine.ts';
import {
  type EventData,
  factsOf,
  type LoadedTransaction,
  outcomeOf,
  resolvedByHand,
  type SaleFacts,
} from './transaction.ts';

type Response = NonNullable<EventData['response']>;
type Action = NonNullable<Transaction['terminalAction']>;

/** The states in which a sale stands approved. */
export const approvedStates: ReadonlySet<State> = new Set<State>([
  'Authorized',
  'PartiallyCaptured',
  'Captured',
  'PartiallyRefunded',
  'Refunded',
]);

/** A message may have left, and nobody knows what became of it; each says how that came. */
const silences: ReadonlySet<string> = new Set([
  'Timeout',
  'ConnectionLost',
  'InvalidResponse',
  'Unanswered',
  'NoAnswer',
]);

function unansweredSummary(reason: string): ResponseSummary {
  if (reason === resolvedByHand) return { category: 'Unknown', reason };
  if (!silences.has(reason)) return { category: 'TechnicalFailure', reason };
  const { category, retry } = noAnswer;
  return { category, reason, ...defined({ retry }) };
}

/** An answer in the words of the contract, or the reason why there is none. */
export function summaryOf(
  response: Response,
  context: { contactless: boolean; zeroAmount: boolean },
): ResponseSummary {
  if (response.code === undefined) return unansweredSummary(response.reason ?? 'NoAnswer');
  const { category, reason, retry } = responseCodeFacts(response.code, context);
  return { category, code: response.code, reason, ...defined({ retry }) };
}

const isContactless = ({ entryMode }: SaleFacts) => entryMode.startsWith('Contactless');

/** What the acquirer answered to the sale; undefined while there is no outcome to tell. */
export function responseOf(loaded: LoadedTransaction): ResponseSummary | undefined {
  const outcome = outcomeOf(loaded);
  if (outcome?.response === undefined && outcome?.reason === undefined) return undefined;
  const { reason, response } = outcome;
  return summaryOf(
    { ...defined({ reason }), ...response },
    { contactless: isContactless(factsOf(loaded)), zeroAmount: loaded.row.amount === 0 },
  );
}

/** The reader that is left where a tap did not do, and the PIN that was not asked for yet. */
function otherWay(facts: SaleFacts, response: ResponseSummary | undefined): Action {
  if (response?.retry === 'OtherInterface') return isContactless(facts) ? 'UseChip' : 'Decline';
  if (response?.retry !== 'WithPin' || facts.entryMode === 'Keyed') return 'Decline';
  // A wrong PIN is asked for again; where one was sent and is wanted all the same, the chip is left.
  if (facts.pinSent !== true || response.reason === 'InvalidPin') return 'AskPin';
  return isContactless(facts) ? 'UseChip' : 'Decline';
}

/** What the terminal does now; undefined while the sale has no outcome. */
export function nextActionOf(loaded: LoadedTransaction): Action | undefined {
  const { state } = loaded.row;
  if (approvedStates.has(state)) return 'Approve';
  if (state === 'Received' || state === 'Stored') return undefined;
  return state === 'Declined' ? otherWay(factsOf(loaded), responseOf(loaded)) : 'Decline';
}
