// Builds the request of a step, with the same members as the requests of payments.
import { randomUUID } from 'node:crypto';
import { defined } from '../../../packages/contract/src/index.ts';
import type {
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
} from '../../../packages/server/src/acquiring/index.ts';
import type { Case, CertificationPlan, Step } from './certification-plan.ts';

export type PlanCard = CertificationPlan['cards'][string];

type ZonePin = NonNullable<NonNullable<AcquirerRequest['sensitive']>['pin']>;

/** A payment message of the case that was sent. */
export type SentPayment = {
  readonly name?: string | undefined;
  readonly request: AcquirerRequest;
  readonly outcome: AcquirerOutcome;
};

export type RequestBuilder = {
  readonly plan: CertificationPlan;
  readonly link: { readonly organizationId: string; readonly linkId: string };
  /** Takes new trace numbers. */
  createReference(kind: AcquirerRequest['kind'], terminalId: string): AcquirerReference;
  translatePin(card: PlanCard): Promise<ZonePin>;
};

const firstKeyOf = (values: Readonly<Record<string, unknown>>): string =>
  Object.keys(values)[0] ?? '';

/** The terminal and the card of a step; each defaults to that of the case, and then to the first of the plan. */
export function findTerminalAndCard(plan: CertificationPlan, each: Case, step?: Step) {
  const terminal = step?.terminal ?? each.terminal ?? firstKeyOf(plan.terminals);
  const card = step?.card ?? each.card ?? firstKeyOf(plan.cards);
  return {
    terminalId: plan.terminals[terminal] ?? '',
    card: plan.cards[card] as PlanCard,
  };
}

const readApprovalCode = ({ outcome }: SentPayment): string | undefined =>
  outcome.outcome === 'Approved' ? outcome.authorizationCode : undefined;

async function readSensitiveData(
  builder: RequestBuilder,
  step: Step,
  card: PlanCard,
  entryMode: AcquirerRequest['entryMode'],
): Promise<AcquirerRequest['sensitive']> {
  const sensitive = defined({
    track2: entryMode === 'Keyed' ? undefined : card.track2,
    securityCode: step.withSecurityCode === true ? card.securityCode : undefined,
    pin: step.withPin === true ? await builder.translatePin(card) : undefined,
  });
  return Object.keys(sensitive).length === 0 ? undefined : sensitive;
}

/** A sale, an authorisation, or the advice of an offline sale. */
export async function buildFirstRequest(
  builder: RequestBuilder,
  kind: 'Sale' | 'Authorization' | 'OfflineSale',
  each: Case,
  step: Step,
): Promise<AcquirerRequest> {
  const { plan, link } = builder;
  const { organizationId, linkId } = link;
  const { number: merchantNumber, mcc, name: merchantName, address } = plan.merchant;
  const { terminalId, card } = findTerminalAndCard(plan, each, step);
  const entryMode = step.entryMode ?? each.entryMode ?? 'Keyed';
  const isChip = entryMode === 'ContactChip' || entryMode === 'ContactlessChip';
  const { tip, cashback } = step;
  return {
    organizationId,
    linkId,
    kind,
    repeat: false,
    transactionId: randomUUID(),
    reference: builder.createReference(kind, terminalId),
    merchantNumber,
    mcc,
    amount: step.amount ?? each.amount ?? plan.amount,
    currency: step.currency ?? each.currency ?? plan.currency,
    entryMode,
    card: { pan: card.number, expiry: card.expiry },
    ...defined({
      merchantName,
      merchantAddress: address,
      orderId: step.orderId,
      amounts: tip === undefined && cashback === undefined ? undefined : defined({ tip, cashback }),
      sensitive:
        kind === 'OfflineSale'
          ? undefined
          : await readSensitiveData(builder, step, card, entryMode),
      isRemoteOrder: step.remoteOrder === true ? true : undefined,
      addressCheck: step.address,
      panSequence: isChip ? card.panSequence : undefined,
      chipData: isChip ? (step.chipData ?? card.chipData) : undefined,
      authorizationCode: step.authorizationCode,
    }),
  };
}

/** With the retrieval reference number of the host, if it assigned one. */
function originalReference({ request: { reference }, outcome }: SentPayment): AcquirerReference {
  const rrn = 'retrievalReference' in outcome ? outcome.retrievalReference : undefined;
  return rrn === undefined ? reference : { ...reference, rrn, rrnAssignedBy: 'Host' };
}

/** A capture, refund or reversal of an earlier payment. */
export function buildFollowUpRequest(
  builder: RequestBuilder,
  kind: 'Capture' | 'Refund' | 'Reversal',
  original: SentPayment,
  step: Step,
): AcquirerRequest {
  const { request, outcome } = original;
  const {
    // Only the first message of a payment has these members.
    sensitive: _sensitive,
    addressCheck: _addressCheck,
    panSequence: _panSequence,
    chipData: _chipData,
    amounts,
    authorizationCode,
    ...shared
  } = request;
  const approvedAmount = outcome.outcome === 'Approved' ? outcome.amount : request.amount;
  return {
    ...shared,
    kind,
    reference: builder.createReference(kind, request.reference.terminalId),
    amount: step.amount ?? approvedAmount - (step.remainingAmount ?? 0),
    original: { ...originalReference(original), amount: request.amount },
    ...defined({
      amounts: amounts?.cashback === undefined ? undefined : amounts,
      authorizationCode: readApprovalCode(original) ?? authorizationCode,
      chipData: step.chipData,
      final: kind === 'Capture' ? step.final : undefined,
      remainingAmount: step.remainingAmount,
      reversalReason: kind === 'Reversal' ? (step.reason ?? 'CustomerCancel') : undefined,
    }),
  };
}
