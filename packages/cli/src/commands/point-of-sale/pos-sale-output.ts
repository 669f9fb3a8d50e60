/** The output of `pos sale` and `pos recover`: text, and JSON for `--json`. */
import {
  authorizedAmount,
  formatDecimalAmount,
  PosError,
  type PosErrorKind,
  type RecoveredService,
  type RequestBody,
  readAdditionalResponse,
  serviceIdRetentionMs,
  type TerminalResponse,
} from '@switchyard/sdk-pos';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { escapeText } from '../../output/escape-text.ts';
import { CommandError } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

type Payment = TerminalResponse<'Payment'>['message'];

const exitNames: Readonly<Record<PosErrorKind, ExitName>> = {
  Transport: 'unreachable',
  Connector: 'refused',
  Terminal: 'refused',
  Invalid: 'usage',
  Aborted: 'interrupted',
};

/** The error of a payment says whether money may have moved. */
export function toCommandError(error: PosError): CommandError {
  const { kind, code, outcome, message, retryAfterMs, serviceId, condition } = error;
  const isUnknown = outcome === 'Unknown';
  const hint = isUnknown
    ? 'Money may have moved. Find out the outcome: switchyard pos recover'
    : 'No money moved.';
  return new CommandError(isUnknown ? 'unsettled' : exitNames[kind], `${kind}: ${message}`, {
    more: [hint],
    facts: { kind, code, outcome, condition, retryAfterMs, serviceId },
  });
}

export function throwAsCommandError(error: unknown): never {
  throw error instanceof PosError ? toCommandError(error) : error;
}

/** Display texts of the card entry modes and the verification methods. */
const entryMethods: Readonly<Record<string, string>> = {
  ICC: 'chip',
  Contactless: 'contactless',
  Tapped: 'contactless',
  MagStripe: 'stripe',
  Keyed: 'keyed',
  OnlinePIN: 'PIN',
  OfflinePIN: 'PIN',
  PaperSignature: 'signature',
};

export const formatMoney = (amount: number, currency: string): string =>
  `${formatDecimalAmount(amount, currency)} ${currency}`;

/** The members of a payment response that the command shows. */
export function paymentFacts({ body }: Payment, authorized: number | undefined, currency: string) {
  const { Response, POIData, PaymentResult } = body;
  const { CardData } = PaymentResult?.PaymentInstrumentData ?? {};
  const { EntryMode = [], PaymentBrand, MaskedPan } = CardData ?? {};
  const verified = PaymentResult?.AuthenticationMethod ?? [];
  return {
    result: Response.Result,
    condition: Response.ErrorCondition,
    reason: additionalMessage(Response.AdditionalResponse),
    authorizedAmount: authorized,
    currency,
    transactionId: POIData?.POITransactionID.TransactionID,
    approvalCode: PaymentResult?.PaymentAcquirerData?.ApprovalCode,
    brand: PaymentBrand,
    maskedNumber: MaskedPan,
    entryMode: EntryMode[0],
    verification: verified[0],
  };
}

const additionalMessage = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : readAdditionalResponse(text).message;

type Facts = ReturnType<typeof paymentFacts>;

function formatCard({ brand, maskedNumber, entryMode, verification }: Facts): string | undefined {
  const how = [entryMode, verification].flatMap((word) => entryMethods[word ?? ''] ?? []);
  const parts = [[brand, maskedNumber].filter((part) => part !== undefined).join(' '), ...how];
  return parts.filter((part) => part !== '').join(', ') || undefined;
}

/** The lines of the customer receipt. */
function customerReceipt({ body }: Payment): string[] {
  const copy = body.PaymentReceipt?.find((each) => each.DocumentQualifier === 'CustomerReceipt');
  return (copy?.OutputContent.OutputText ?? []).map(({ Text = '' }) => Text);
}

/** The non-empty lines of a display request. */
export function displayLines({ DisplayOutput }: RequestBody<'Display'>): string[] {
  return DisplayOutput.flatMap(({ OutputContent }) =>
    (OutputContent.OutputText ?? []).map(({ Text = '' }) => Text),
  ).filter((line) => line.trim() !== '');
}

function headline({ paint }: CommandContext['output'], facts: Facts): string {
  const { result, condition = 'Failure', reason, authorizedAmount, currency } = facts;
  if (result === 'Failure') {
    const why = reason === undefined ? '' : ` ${escapeText(reason).replace(/\.?$/, '.')}`;
    return paint('red', `Not paid: ${escapeText(condition)}.${why}`);
  }
  const amount =
    authorizedAmount === undefined ? '' : ` ${formatMoney(authorizedAmount, currency)}`;
  return result === 'Partial'
    ? paint('yellow', `Paid in part:${amount}.`)
    : paint('green', `Paid${amount}.`);
}

/** Prints the payment response as text or JSON. */
export function printAnswer(
  { output }: CommandContext,
  { message, serviceId, advice }: TerminalResponse<'Payment'>,
  { currency, withReceipt }: { readonly currency: string; readonly withReceipt: boolean },
): void {
  const authorized =
    message.body.Response.Result === 'Failure'
      ? undefined
      : readAuthorizedAmount(message, currency);
  const facts = paymentFacts(message, authorized, currency);
  const receipt = customerReceipt(message);
  const receiptMember = withReceipt ? { receipt } : {};
  output.printResult({ ...facts, advice, serviceId, ...receiptMember }, () => {
    const { approvalCode, transactionId } = facts;
    const members = output.formatMembers({
      Card: formatCard(facts),
      Approval: approvalCode,
      Transaction: transactionId,
    });
    const lines = withReceipt ? receipt.map((line) => `  ${escapeText(line)}\n`).join('') : '';
    return `${headline(output, facts)}\n${members}${lines === '' ? '' : `\n${lines}`}`;
  });
}

function readAuthorizedAmount(message: Payment, currency: string): number | undefined {
  try {
    return authorizedAmount(message, currency);
  } catch (error) {
    if (error instanceof PosError) return undefined;
    throw error;
  }
}

/** A payment of an earlier run and its outcome. */
export type EarlierPayment = {
  readonly serviceId: string;
  readonly at: string;
  readonly outcome: 'Paid' | 'NotPaid' | 'Unknown';
  readonly text: string;
  readonly facts?: Facts;
};

function describePayment({ serviceId, at }: RecoveredService['service']) {
  const startedAt = new Date(at).toISOString();
  return {
    serviceId,
    at: startedAt,
    label: `The payment ${escapeText(serviceId)} of ${startedAt}`,
  };
}

/** A payment that the user settled, because the terminal no longer knows its outcome. */
export function settledManually(
  { service }: Pick<RecoveredService, 'service'>,
  isPaid: boolean,
): EarlierPayment {
  const { label, ...identity } = describePayment(service);
  return isPaid
    ? { ...identity, outcome: 'Paid', text: `${label}: recorded as paid.` }
    : { ...identity, outcome: 'NotPaid', text: `${label}: recorded as not paid.` };
}

/** A payment that is too recent for --not-paid. */
export function notYetSettleable({ service }: Pick<RecoveredService, 'service'>): EarlierPayment {
  const { label, ...identity } = describePayment(service);
  const text = `${label}: its outcome is unknown, and it may still run.
  --not-paid is accepted from ${new Date(service.at + serviceIdRetentionMs).toISOString()}, 48 hours after it began.`;
  return { ...identity, outcome: 'Unknown', text };
}

const unknownToTerminal = `The terminal does not know it, and may have been exchanged or reset.
  Look for the payment on the platform, then record it with pos recover --paid or --not-paid.`;

/** undefined for services other than payments, which move no money. */
export function toEarlierPayment(
  { service, outcome, message, condition }: RecoveredService,
  currency: string,
): EarlierPayment | undefined {
  if (service.header.MessageCategory !== 'Payment') return undefined;
  const { serviceId, at, label } = describePayment(service);
  if (outcome === 'NotProcessed') {
    return { serviceId, at, outcome: 'NotPaid', text: `${label} never reached the terminal.` };
  }
  const answer = message as Payment | undefined;
  if (answer === undefined) {
    const reason = condition === 'NotFound' ? ` ${unknownToTerminal}` : '';
    const text = `${label}: its outcome is unknown.${reason}`;
    return { serviceId, at, outcome: 'Unknown', text };
  }
  const { Result, ErrorCondition } = answer.body.Response;
  const isPaid = Result !== 'Failure';
  const facts = paymentFacts(
    answer,
    isPaid ? readAuthorizedAmount(answer, currency) : undefined,
    currency,
  );
  const { authorizedAmount: amount } = facts;
  const authorized = amount === undefined ? '' : `: ${formatMoney(amount, facts.currency)}`;
  const text = isPaid
    ? `${label} was paid${authorized}.`
    : `${label} was not paid: ${escapeText(ErrorCondition ?? 'Failure')}.`;
  return { serviceId, at, outcome: isPaid ? 'Paid' : 'NotPaid', text, facts };
}
