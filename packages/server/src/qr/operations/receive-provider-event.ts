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
import { isUuidV7 } from '../../platform/index.ts';
import * as read from '../providers/read-members.ts';
import { OperationIdTakenError } from '../repository/qr-store.ts';
import { commitStep } from '../runtime/commit-steps.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import {
  type PaymentReport,
  paymentReportStep,
  type ReportContext,
  type ReportOutcome,
} from '../transaction/apply-payment-report.ts';
import {
  contradictsStatus,
  type RefundReport,
  refundReportStep,
} from '../transaction/apply-refund-report.ts';
import type { PaymentStep } from '../transaction/build-change.ts';
import { providerEventsMax } from '../transaction/limits.ts';
import type { LoadedPayment, QrEventData } from '../transaction/records.ts';

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
const concurrentChangesMax = 50;

function throwInvalidField(pointer: string, detail: string): never {
  return throwProblem('field_invalid', `${pointer.slice(1)} ${detail}.`, {
    errors: [{ pointer, code: 'field_invalid', detail }],
  });
}

function requireValidEvent({ row }: LoadedPayment, event: ProviderEvent): void {
  const { display, providerTransactionId, type, refundId } = event;
  const knownIdentifier = row.providerTransactionId;
  const identifier = read.parseIdentifier(providerTransactionId);
  if (identifier === undefined)
    throwInvalidField('/providerTransactionId', 'looks like a card number');
  if (knownIdentifier !== undefined && knownIdentifier !== identifier) {
    throwInvalidField('/providerTransactionId', 'does not match the payment');
  }
  const fault = display === undefined ? undefined : displayFault(display);
  if (fault !== undefined) throwInvalidField('/display/data', fault);
  if (type.startsWith('refund.') && isProviderEventType(type) && refundId === undefined) {
    throwProblem('field_required', 'A refund event requires refundId.', {
      errors: [{ pointer: '/refundId', code: 'field_required', detail: 'is required' }],
    });
  }
}

function providerData(event: ProviderEvent): NonNullable<QrEventData['provider']> {
  return {
    eventId: event.eventId.toLowerCase(),
    type: hideCardNumbers(event.type),
    sequence: event.sequence,
    occurredAt: parseTimestamp(event.occurredAt, '/occurredAt'),
    ...read.collectUnknownMembers(event, eventMembers),
  };
}

function paymentReportOf(event: ProviderEvent, status: PaymentReport['status']): PaymentReport {
  const { display, amount, sequence } = event;
  return {
    status,
    sequence,
    providerTransactionId: read.parseIdentifier(event.providerTransactionId),
    ...defined({
      amount: amount === undefined ? undefined : amount.amount,
      currency: amount?.currency,
    }),
    display: display === undefined ? undefined : { type: display.type, data: display.data },
    failure: read.parseFailure(event.failure),
    payer: read.parsePayer(event.payer),
  };
}

/** Builds the step of a refund event; an event with another amount changes nothing. */
function refundEventOutcome(
  current: LoadedPayment,
  event: ProviderEvent,
  status: RefundReport['status'],
  at: number,
): ReportOutcome {
  const provider = providerData(event);
  const { sequence, refundId = '', amount } = event;
  const providerRefundId = read.parseIdentifier(event.providerRefundId);
  const operationId = refundId.toLowerCase();
  const refund = current.operations.find((each) => each.operationId === operationId);
  const hasOtherAmount =
    amount !== undefined &&
    refund !== undefined &&
    (amount.amount !== refund.amount || amount.currency !== current.row.position.currency);
  if (hasOtherAmount) {
    const data = { provider, reason: 'AmountDiffers', amount: amount.amount };
    return { step: { at, type: 'qr.noted', changes: {}, data }, alarm: 'amount_differs' };
  }
  const report = { status, failure: read.parseFailure(event.failure), providerRefundId };
  const step = refundReportStep(current, operationId, report, { at, sequence, provider });
  if (step === undefined) throw new Error('a provider event must give a step');
  const contradicts = refund !== undefined && contradictsStatus(refund, status);
  return { step, ...(contradicts ? { alarm: 'contradiction' as const } : {}) };
}

/** Builds the step of an event; the server stores every event. Pure. */
export function buildProviderEventStep(
  current: LoadedPayment,
  event: ProviderEvent,
  context: Pick<ReportContext, 'at' | 'newId' | 'payWithinMs'>,
): ReportOutcome {
  const { type } = event;
  const provider = providerData(event);
  if (!isProviderEventType(type)) {
    // An unknown type does not advance the sequence, so a delayed event of a known type still
    // counts.
    const data = { provider, reason: 'UnknownType' };
    return { step: { at: context.at, type: 'qr.noted', changes: {}, data } };
  }
  const status = providerEventStatuses[type];
  if (type === 'refund.completed' || type === 'refund.declined') {
    const refundStatus = type === 'refund.completed' ? 'Completed' : 'Declined';
    return refundEventOutcome(current, event, refundStatus, context.at);
  }
  const outcome = paymentReportStep(current, paymentReportOf(event, status), {
    ...context,
    provider,
  });
  if (outcome === undefined) throw new Error('a provider event must give a step');
  return outcome;
}

/**
 * The result for the provider. A note counts as stored only if it sets the provider's identifier or
 * makes the server ask the provider.
 */
function resultOf(
  { row }: LoadedPayment,
  { step, alarm }: { readonly step: PaymentStep; readonly alarm: ReportOutcome['alarm'] },
): QrEventReceipt['result'] {
  if (step.type === 'qr.held') return 'UnderReview';
  if (step.type !== 'qr.noted') return 'Stored';
  if (alarm !== undefined || step.data?.reason === 'Held') return 'UnderReview';
  const bringsIdentifier =
    row.providerTransactionId === undefined && step.providerTransactionId !== undefined;
  const asksProvider = (step.operations ?? []).length > 0;
  return bringsIdentifier || asksProvider ? 'Stored' : 'Ignored';
}

function receipt({ row }: LoadedPayment, event: ProviderEvent, result: QrEventReceipt['result']) {
  return { eventId: event.eventId, transactionId: row.transactionId, result };
}

/**
 * Stores an event. Only the organisation that provides the service can find the payment.
 *
 * @throws ProblemError transaction_not_found, of the fields, event_limit_reached
 */
export function receiveProviderEvent(
  deps: QrDeps,
  caller: Caller,
  transactionId: string,
  event: ProviderEvent,
): Promise<QrEventReceipt> {
  const { organizationId, merchantId } = caller;
  if (merchantId !== undefined) {
    throwProblem(
      'permission_denied',
      'Only the organisation that provides the service can report events.',
    );
  }
  // Handles the events of one payment in sequence, so that their commits do not conflict.
  return deps.runningPayments.runExclusive({ organizationId, transactionId }, () =>
    storeEvent(deps, caller, transactionId, event),
  );
}

async function storeEvent(
  deps: QrDeps,
  caller: Caller,
  transactionId: string,
  event: ProviderEvent,
): Promise<QrEventReceipt> {
  for (let attempt = 0; attempt < concurrentChangesMax; attempt += 1) {
    const loaded = await findForProvider(deps, caller, transactionId, event);
    if (loaded.isKnown) return receipt(loaded, event, 'Duplicate');
    requireValidEvent(loaded, event);
    if (loaded.row.providerEvents >= providerEventsMax) {
      throwProblem(
        'event_limit_reached',
        `The server stores at most ${providerEventsMax} provider events of a payment.`,
      );
    }
    const context = { at: deps.clock.now(), newId: deps.ids.uuid, payWithinMs: deps.payWithinMs };
    const { step, alarm } = buildProviderEventStep(loaded, event, context);
    if (!(await tryCommit(deps, loaded, step))) continue;
    if (alarm !== undefined) deps.alarms.raise(alarm, loaded.row);
    return receipt(loaded, event, resultOf(loaded, { step, alarm }));
  }
  return throwProblem(
    'concurrent_modification',
    'Too many requests changed this payment at the same time. Retry the request.',
  );
}

async function tryCommit(deps: QrDeps, loaded: LoadedPayment, step: ReportOutcome['step']) {
  try {
    return (await commitStep(deps, loaded, step)) !== undefined;
  } catch (error) {
    // Another process stored the same event; the next read finds it as a duplicate.
    if (error instanceof OperationIdTakenError) return false;
    throw error;
  }
}

async function findForProvider(
  deps: QrDeps,
  { organizationId }: Caller,
  transactionId: string,
  { eventId }: ProviderEvent,
) {
  const payment = isUuidV7(transactionId)
    ? await deps.store.findForProvider(organizationId, transactionId.toLowerCase(), eventId)
    : undefined;
  return (
    payment ?? throwProblem('transaction_not_found', 'There is no QR payment with this identifier.')
  );
}
