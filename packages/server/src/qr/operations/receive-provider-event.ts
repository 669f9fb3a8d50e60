// Stores each provider event once, before the server acknowledges it.
import {
  defined,
  displayFault,
  isProviderEventType,
  type ProviderEvent,
  providerEventStatuses,
  type QrEventReceipt,
  throwProblem,
} from '@switchyard/contract';
import { hideCardNumbers } from '@switchyard/emv';
import { type Caller, parseTimestamp } from '../../http/index.ts';
import * as read from '../providers/read-members.ts';
import { OperationIdTaken } from '../repository/qr-store.ts';
import { commit } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import {
  type Context,
  type Reported,
  reportStep,
  type Told,
} from '../transaction/apply-payment-report.ts';
import { isContradicted, type RefundSaid, refundStep } from '../transaction/apply-refund-report.ts';
import type { Step } from '../transaction/build-change.ts';
import { providerEventsMax } from '../transaction/limits.ts';
import type { EventData, LoadedQr } from '../transaction/records.ts';
import { maybeServerId } from './find-payment.ts';

const eventMembers = [
  'eventId',
  'sequence',
  'type',
  'occurredAt',
  'status',
  'providerTransactionId',
  'amount',
  'display',
  'refundId',
  'providerRefundId',
  'payer',
  'failure',
];
const rivalsMax = 50;

function refuseField(pointer: string, detail: string): never {
  return throwProblem('field_invalid', `${pointer.slice(1)} ${detail}.`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

function checkEvent({ row }: LoadedQr, event: ProviderEvent): void {
  const { display, providerTransactionId, type, refundId } = event;
  const known = row.providerTransactionId;
  const named = read.identifier(providerTransactionId);
  if (named === undefined) refuseField('/providerTransactionId', 'could be the number of a card');
  if (known !== undefined && known !== named) {
    refuseField('/providerTransactionId', 'is not that of this payment');
  }
  const fault = display === undefined ? undefined : displayFault(display);
  if (fault !== undefined) refuseField('/display/data', fault);
  if (type.startsWith('refund.') && isProviderEventType(type) && refundId === undefined) {
    throwProblem('field_required', 'A refund is told of by its refundId.', {
      errors: [{ pointer: '/refundId', code: 'field_required', detail: 'is required' }],
    });
  }
}

function providerOf(event: ProviderEvent): NonNullable<EventData['provider']> {
  return {
    eventId: event.eventId.toLowerCase(),
    type: hideCardNumbers(event.type),
    sequence: event.sequence,
    occurredAt: parseTimestamp(event.occurredAt, '/occurredAt'),
    ...read.moreOf(event, eventMembers),
  };
}

function toldBy(event: ProviderEvent, said: Told['said']): Told {
  const { display, amount, sequence } = event;
  return {
    said,
    sequence,
    providerTransactionId: read.identifier(event.providerTransactionId),
    ...defined({
      amount: amount === undefined ? undefined : amount.amount,
      currency: amount?.currency,
    }),
    display: display === undefined ? undefined : { type: display.type, data: display.data },
    failure: read.failure(event.failure),
    payer: read.payer(event.payer),
  };
}

/** Builds the step of a refund event; an event with another amount changes nothing. */
function refundReported(
  standing: LoadedQr,
  event: ProviderEvent,
  said: RefundSaid['said'],
  at: number,
): Reported {
  const provider = providerOf(event);
  const { sequence, refundId = '', amount } = event;
  const providerRefundId = read.identifier(event.providerRefundId);
  const id = refundId.toLowerCase();
  const refund = standing.operations.find(({ operationId }) => operationId === id);
  const differs =
    amount !== undefined &&
    refund !== undefined &&
    (amount.amount !== refund.amount || amount.currency !== standing.row.position.currency);
  if (differs) {
    const data = { provider, reason: 'AmountDiffers', amount: amount.amount };
    return { step: { at, type: 'qr.noted', changes: {}, data }, alarm: 'amount_differs' };
  }
  const what = { said, failure: read.failure(event.failure), providerRefundId };
  const step = refundStep(standing, id, what, { at, sequence, provider });
  if (step === undefined) throw new Error('an event is always a step');
  const contradicts = refund !== undefined && isContradicted(refund, said);
  return { step, ...(contradicts ? { alarm: 'contradiction' as const } : {}) };
}

/** Builds the step of an event; the server stores every event. Pure. */
export function eventStep(
  standing: LoadedQr,
  event: ProviderEvent,
  of: Pick<Context, 'at' | 'newId' | 'payWithinMs'>,
): Reported {
  const { type } = event;
  const provider = providerOf(event);
  if (!isProviderEventType(type)) {
    // An unknown type does not advance the sequence, so a delayed event of a known type still
    // counts.
    const data = { provider, reason: 'UnknownType' };
    return { step: { at: of.at, type: 'qr.noted', changes: {}, data } };
  }
  const said = providerEventStatuses[type];
  if (type === 'refund.completed' || type === 'refund.declined') {
    const word = type === 'refund.completed' ? 'Completed' : 'Declined';
    return refundReported(standing, event, word, of.at);
  }
  const reported = reportStep(standing, toldBy(event, said), { ...of, provider });
  if (reported === undefined) throw new Error('an event is always a step');
  return reported;
}

/**
 * The result for the provider. A note counts as stored only if it sets the provider's identifier.
 */
function resultOf(
  { row }: LoadedQr,
  { step, alarm }: { readonly step: Step; readonly alarm: Reported['alarm'] },
): QrEventReceipt['result'] {
  if (step.type === 'qr.held') return 'UnderReview';
  if (step.type !== 'qr.noted') return 'Stored';
  if (alarm !== undefined || step.data?.reason === 'Held') return 'UnderReview';
  const isNamed =
    row.providerTransactionId === undefined && step.providerTransactionId !== undefined;
  return isNamed ? 'Stored' : 'Ignored';
}

function receipt({ row }: LoadedQr, event: ProviderEvent, result: QrEventReceipt['result']) {
  return { eventId: event.eventId, transactionId: row.transactionId, result };
}

/**
 * Stores an event. Only the organisation that provides the service can find the payment.
 *
 * @throws Refusal transaction_not_found, of the fields, event_limit_reached
 */
export function takeEvent(
  deps: QrDeps,
  caller: Caller,
  transactionId: string,
  event: ProviderEvent,
): Promise<QrEventReceipt> {
  const { organizationId, merchantId } = caller;
  if (merchantId !== undefined) {
    throwProblem(
      'permission_denied',
      'Only the organisation that provides the service tells events.',
    );
  }
  // Handles the events of one payment in sequence, so that their commits do not conflict.
  return deps.running.inTurn({ organizationId, transactionId }, () =>
    takeInTurn(deps, caller, transactionId, event),
  );
}

async function takeInTurn(
  deps: QrDeps,
  caller: Caller,
  transactionId: string,
  event: ProviderEvent,
): Promise<QrEventReceipt> {
  for (let attempt = 0; attempt < rivalsMax; attempt += 1) {
    const found = await findMine(deps, caller, transactionId, event);
    if (found.isKnown) return receipt(found, event, 'Duplicate');
    checkEvent(found, event);
    if (found.row.providerEvents >= providerEventsMax) {
      throwProblem('event_limit_reached', `More than ${providerEventsMax} events are not kept.`);
    }
    const of = { at: deps.clock.now(), newId: deps.ids.uuid, payWithinMs: deps.payWithinMs };
    const { step, alarm } = eventStep(found, event, of);
    if (!(await isCommitted(deps, found, step))) continue;
    if (alarm !== undefined) deps.alarms.raise(alarm, found.row);
    return receipt(found, event, resultOf(found, { step, alarm }));
  }
  return throwProblem('concurrent_modification', 'Too many work on this payment; try again.');
}

async function isCommitted(deps: QrDeps, found: LoadedQr, step: Reported['step']) {
  try {
    return (await commit(deps, found, step)) !== undefined;
  } catch (error) {
    // Another process stored the same event; the next read finds it as a duplicate.
    if (error instanceof OperationIdTaken) return false;
    throw error;
  }
}

async function findMine(
  deps: QrDeps,
  { organizationId }: Caller,
  transactionId: string,
  { eventId }: ProviderEvent,
) {
  const found = maybeServerId(transactionId)
    ? await deps.store.findForProvider(organizationId, transactionId.toLowerCase(), eventId)
    : undefined;
  return (
    found ?? throwProblem('transaction_not_found', 'There is no QR payment with this identifier.')
  );
}
