// Builds the acquirer message of an operation and sends it.
import { defined } from '@switchyard/contract';
import type {
  AcquirerOutcome,
  AcquirerRequest,
  AcquirerReversalReason,
  Acquiring,
} from '../../acquiring/index.ts';
import type { FailPoints, Span } from '../../platform/index.ts';
import type { Vault } from '../../vault/index.ts';
import {
  authorizationContext,
  merchantData,
  type StoredOperation,
  saleOutcome,
  type TransactionRecord,
} from '../transaction/transaction.ts';

/** `Suspect` for any other cause. */
const acquirerReasonByCause: Readonly<Record<string, AcquirerReversalReason>> = {
  Timeout: 'Timeout',
  ConnectionLost: 'Timeout',
  Unanswered: 'Timeout',
  Undecided: 'Timeout',
  LateApproval: 'Timeout',
  ApprovedAfterReversal: 'Timeout',
  InvalidResponse: 'InvalidResponse',
  PartialApproval: 'InvalidResponse',
  CustomerCancel: 'CustomerCancel',
  ChipDeclined: 'ChipDeclined',
  CardRemoved: 'CardRemoved',
};

function acquirerReversalReason({ kind, details }: StoredOperation): AcquirerReversalReason {
  if (kind === 'Cancel') return 'CustomerCancel';
  const cause = details.reversalReason ?? details.systemReversalReason ?? '';
  return acquirerReasonByCause[cause] ?? 'Suspect';
}

export type SendPorts = {
  vault: Pick<Vault, 'detokenizeCard'>;
  acquiring: Pick<Acquiring, 'send'>;
  failPoints: FailPoints;
};

/** The members that every message about a stored sale has, with its card. */
export async function createStoredCardRequest(
  { vault }: Pick<SendPorts, 'vault'>,
  transaction: TransactionRecord,
  { purpose, actor }: { purpose: string; actor?: string | undefined },
) {
  const { organizationId, transactionId, merchantId, amount, currency } = transaction.row;
  const context = authorizationContext(transaction);
  const { linkId, reference, acquirerMerchantId, mcc, entryMode, card } = context;
  const storedCard = await vault.detokenizeCard(organizationId, card.token, {
    purpose,
    actor: actor ?? `merchant ${merchantId}`,
    subjectId: transactionId,
  });
  if (storedCard === undefined) throw new Error('the vault has no card for the token of the sale');
  return {
    organizationId,
    transactionId,
    linkId,
    reference,
    merchantNumber: acquirerMerchantId,
    mcc,
    ...merchantData(context),
    amount,
    currency,
    entryMode,
    card: storedCard,
  };
}

/** How a message is sent, and the span that its sending belongs to. */
export type SendContext = {
  /** An earlier copy of the message may have been sent. */
  isRepeat: boolean;
  span: Span | undefined;
};

export async function sendOperation(
  ports: SendPorts,
  transaction: TransactionRecord,
  operation: StoredOperation,
  { isRepeat, span }: SendContext,
  onPossiblySent?: () => void,
): Promise<AcquirerOutcome> {
  const { kind, amount, details } = operation;
  const context = authorizationContext(transaction);
  const request: AcquirerRequest = {
    ...(await createStoredCardRequest(ports, transaction, { purpose: kind, actor: details.actor })),
    kind: kind === 'Cancel' ? 'Reversal' : kind,
    repeat: isRepeat,
    reference: details.reference,
    amount,
    original: { ...context.reference, amount: transaction.row.amount },
    ...defined({
      amounts: context.amounts?.cashback === undefined ? undefined : context.amounts,
      authorizationCode: saleOutcome(transaction)?.authorizationCode,
      isRemoteOrder: context.request['orderChannel'] === undefined ? undefined : true,
      chipData: details.chipData,
      final: details.final === true ? true : undefined,
      remainingAmount: details.remainingAmount,
    }),
  };
  if (request.kind === 'Reversal') request.reversalReason = acquirerReversalReason(operation);
  const notifyPossiblySent = () => {
    onPossiblySent?.();
    ports.failPoints.hit('after-send');
  };
  return ports.acquiring.send(request, notifyPossiblySent, span);
}
