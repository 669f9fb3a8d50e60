/** What a till tells of its sales: words for people, facts for `--json`. */
import {
  type Answer,
  authorizedAmount,
  decimalText,
  PosError,
  type PosErrorKind,
  type Recovered,
  type RequestBody,
  readAdditionalResponse,
  serviceIdKeptMs,
} from '@switchyard/sdk-pos';
import type { Kit } from '../../command-line/command-runner.ts';
import { visible } from '../../output/escape-text.ts';
import { CommandFault } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

type Payment = Answer<'Payment'>['message'];

const exits: Readonly<Record<PosErrorKind, ExitName>> = {
  Transport: 'unreachable',
  Relay: 'refused',
  Terminal: 'refused',
  Invalid: 'usage',
  Aborted: 'interrupted',
};

/** A fault says first of all whether money may have moved. */
export function faultOf(error: PosError): CommandFault {
  const { kind, code, outcome, message, retryAfterMs, serviceId, condition } = error;
  const isUnknown = outcome === 'Unknown';
  const hint = isUnknown
    ? 'Money may have moved: switchyard pos recover asks how it ended.'
    : 'No money moved.';
  return new CommandFault(isUnknown ? 'unsettled' : exits[kind], `${kind}: ${message}`, {
    more: [hint],
    facts: { kind, code, outcome, condition, retryAfterMs, serviceId },
  });
}

export function told(error: unknown): never {
  throw error instanceof PosError ? faultOf(error) : error;
}

/** How the card was read and its holder verified, in words. */
const ways: Readonly<Record<string, string>> = {
  ICC: 'chip',
  Contactless: 'contactless',
  Tapped: 'contactless',
  MagStripe: 'stripe',
  Keyed: 'keyed',
  OnlinePIN: 'PIN',
  OfflinePIN: 'PIN',
  PaperSignature: 'signature',
};

export const moneyText = (amount: number, currency: string): string =>
  `${decimalText(amount, currency)} ${currency}`;

/** What the answer of a terminal says of a payment. */
export function factsOf({ body }: Payment, paid: number | undefined, currency: string) {
  const { Response, POIData, PaymentResult } = body;
  const { CardData } = PaymentResult?.PaymentInstrumentData ?? {};
  const { EntryMode = [], PaymentBrand, MaskedPan } = CardData ?? {};
  const verified = PaymentResult?.AuthenticationMethod ?? [];
  return {
    result: Response.Result,
    condition: Response.ErrorCondition,
    reason: messageOf(Response.AdditionalResponse),
    authorizedAmount: paid,
    currency,
    transactionId: POIData?.POITransactionID.TransactionID,
    approvalCode: PaymentResult?.PaymentAcquirerData?.ApprovalCode,
    brand: PaymentBrand,
    maskedNumber: MaskedPan,
    entryMode: EntryMode[0],
    verification: verified[0],
  };
}

const messageOf = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : readAdditionalResponse(text).message;

type Facts = ReturnType<typeof factsOf>;

function cardText({ brand, maskedNumber, entryMode, verification }: Facts): string | undefined {
  const how = [entryMode, verification].flatMap((word) => ways[word ?? ''] ?? []);
  const parts = [[brand, maskedNumber].filter((part) => part !== undefined).join(' '), ...how];
  return parts.filter((part) => part !== '').join(', ') || undefined;
}

/** The lines of the receipt that the customer takes along. */
function receiptOf({ body }: Payment): string[] {
  const copy = body.PaymentReceipt?.find((each) => each.DocumentQualifier === 'CustomerReceipt');
  return (copy?.OutputContent.OutputText ?? []).map(({ Text = '' }) => Text);
}

/** What a terminal wants its cashier to see. */
export function linesOf({ DisplayOutput }: RequestBody<'Display'>): string[] {
  return DisplayOutput.flatMap(({ OutputContent }) =>
    (OutputContent.OutputText ?? []).map(({ Text = '' }) => Text),
  ).filter((line) => line.trim() !== '');
}

function headOf({ paint }: Kit['screen'], facts: Facts): string {
  const { result, condition = 'Failure', reason, authorizedAmount, currency } = facts;
  if (result === 'Failure') {
    const why = reason === undefined ? '' : ` ${visible(reason).replace(/\.?$/, '.')}`;
    return paint('red', `Not paid: ${visible(condition)}.${why}`);
  }
  const amount = authorizedAmount === undefined ? '' : ` ${moneyText(authorizedAmount, currency)}`;
  return result === 'Partial'
    ? paint('yellow', `Paid in part:${amount}.`)
    : paint('green', `Paid${amount}.`);
}

/** The answer, in words or as a document. */
export function tellAnswer(
  { screen }: Kit,
  { message, serviceId, advice }: Answer<'Payment'>,
  { currency, withReceipt }: { readonly currency: string; readonly withReceipt: boolean },
): void {
  const paid = message.body.Response.Result === 'Failure' ? undefined : amountIn(message, currency);
  const facts = factsOf(message, paid, currency);
  const receipt = receiptOf(message);
  const shown = withReceipt ? { receipt } : {};
  screen.result({ ...facts, advice, serviceId, ...shown }, () => {
    const { approvalCode, transactionId } = facts;
    const members = screen.members({
      Card: cardText(facts),
      Approval: approvalCode,
      Transaction: transactionId,
    });
    const lines = withReceipt ? receipt.map((line) => `  ${visible(line)}\n`).join('') : '';
    return `${headOf(screen, facts)}\n${members}${lines === '' ? '' : `\n${lines}`}`;
  });
}

function amountIn(message: Payment, currency: string): number | undefined {
  try {
    return authorizedAmount(message, currency);
  } catch (error) {
    if (error instanceof PosError) return undefined;
    throw error;
  }
}

/** A sale from before, and how it ended. */
export type Earlier = {
  readonly serviceId: string;
  readonly at: string;
  readonly outcome: 'Paid' | 'NotPaid' | 'Unknown';
  readonly text: string;
  readonly facts?: Facts;
};

function namedIn({ serviceId, at }: Recovered['kept']) {
  const begun = new Date(at).toISOString();
  return { serviceId, at: begun, when: `The payment ${visible(serviceId)} of ${begun}` };
}

/** What somebody says of a payment that no terminal can tell of. */
export function settledByHand({ kept }: Pick<Recovered, 'kept'>, isPaid: boolean): Earlier {
  const { when, ...named } = namedIn(kept);
  return isPaid
    ? { ...named, outcome: 'Paid', text: `${when} is settled by hand: it was paid.` }
    : { ...named, outcome: 'NotPaid', text: `${when} is settled by hand: it was not paid.` };
}

/** Why nobody can say yet that it was not paid. */
export function tooYoung({ kept }: Pick<Recovered, 'kept'>): Earlier {
  const { when, ...named } = namedIn(kept);
  const text = `${when}: nobody could tell how it ended, and it may still run.
  --not-paid is taken from ${new Date(kept.at + serviceIdKeptMs).toISOString()}, 48 hours after it began.`;
  return { ...named, outcome: 'Unknown', text };
}

/** Other services than payments moved no money, whatever became of them. */
export function earlierOf(
  { kept, outcome, message }: Recovered,
  currency: string,
): Earlier | undefined {
  if (kept.header.MessageCategory !== 'Payment') return undefined;
  const { serviceId, at, when } = namedIn(kept);
  if (outcome === 'Unknown') {
    return { serviceId, at, outcome, text: `${when}: nobody could tell how it ended.` };
  }
  const answer = message as Payment | undefined;
  if (outcome === 'NotProcessed' || answer === undefined) {
    return { serviceId, at, outcome: 'NotPaid', text: `${when} never reached the terminal.` };
  }
  const { Result, ErrorCondition } = answer.body.Response;
  const isPaid = Result !== 'Failure';
  const facts = factsOf(answer, isPaid ? amountIn(answer, currency) : undefined, currency);
  const { authorizedAmount: amount } = facts;
  const paid = amount === undefined ? '' : `: ${moneyText(amount, facts.currency)}`;
  const text = isPaid
    ? `${when} was paid${paid}.`
    : `${when} was not paid: ${visible(ErrorCondition ?? 'Failure')}.`;
  return { serviceId, at, outcome: isPaid ? 'Paid' : 'NotPaid', text, facts };
}
