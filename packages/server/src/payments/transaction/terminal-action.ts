// Derives the terminal action from the response of the acquirer.
import {
  defined,
  noAnswer,
  type ResponseSummary,
  responseCodeFacts,
  type Transaction,
} from '@switchyard/contract';
import type { State } from './state-machine.ts';
import {
  type AuthorizationContext,
  authorizationContext,
  type EventData,
  manualResolutionReason,
  saleOutcome,
  type TransactionRecord,
} from './transaction.ts';

type TerminalAction = NonNullable<Transaction['terminalAction']>;

export const approvedStates: ReadonlySet<State> = new Set<State>([
  'Authorized',
  'PartiallyCaptured',
  'Captured',
  'PartiallyRefunded',
  'Refunded',
]);

/** Reasons for a missing response: the message may have been sent and the outcome is unknown. */
const noResponseReasons: ReadonlySet<string> = new Set([
  'Timeout',
  'ConnectionLost',
  'InvalidResponse',
  'Unanswered',
  'NoAnswer',
]);

function summarizeWithoutResponse(reason: string): ResponseSummary {
  if (reason === manualResolutionReason) return { category: 'Unknown', reason };
  if (!noResponseReasons.has(reason)) return { category: 'TechnicalFailure', reason };
  const { category, retry } = noAnswer;
  return { category, reason, ...defined({ retry }) };
}

export function summarizeResponse(
  response: NonNullable<EventData['response']>,
  context: { contactless: boolean; zeroAmount: boolean },
): ResponseSummary {
  if (response.code === undefined) return summarizeWithoutResponse(response.reason ?? 'NoAnswer');
  const { category, reason, retry } = responseCodeFacts(response.code, context);
  return { category, code: response.code, reason, ...defined({ retry }) };
}

const isContactless = ({ entryMode }: AuthorizationContext) => entryMode.startsWith('Contactless');

/** The acquirer's response to the sale; undefined while the sale has no outcome. */
export function saleResponse(transaction: TransactionRecord): ResponseSummary | undefined {
  const outcome = saleOutcome(transaction);
  if (outcome?.response === undefined && outcome?.reason === undefined) return undefined;
  const { reason, response } = outcome;
  return summarizeResponse(
    { ...defined({ reason }), ...response },
    {
      contactless: isContactless(authorizationContext(transaction)),
      zeroAmount: transaction.row.amount === 0,
    },
  );
}

/** Terminal action after a decline that another interface or a PIN can solve. */
function fallbackAction(
  context: AuthorizationContext,
  response: ResponseSummary | undefined,
): TerminalAction {
  if (response?.retry === 'OtherInterface') return isContactless(context) ? 'UseChip' : 'Decline';
  if (response?.retry !== 'WithPin' || context.entryMode === 'Keyed') return 'Decline';
  // After an accepted PIN a second one does not help; a contactless card is then read by its chip.
  if (context.isPinSent !== true || response.reason === 'InvalidPin') return 'AskPin';
  return isContactless(context) ? 'UseChip' : 'Decline';
}

/** Undefined while the sale has no outcome. */
export function terminalActionFor(transaction: TransactionRecord): TerminalAction | undefined {
  const { state } = transaction.row;
  if (approvedStates.has(state)) return 'Approve';
  if (state === 'Received' || state === 'Stored') return undefined;
  return state === 'Declined'
    ? fallbackAction(authorizationContext(transaction), saleResponse(transaction))
    : 'Decline';
}
