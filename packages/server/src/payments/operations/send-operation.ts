// Builds the acquirer message of an operation and sends it.
import { defined } from '@switchyard/contract';
import type { AcquirerOutcome, AcquirerRequest, Acquiring } from '../../acquiring/index.ts';
import type { FailPoints } from '../../platform/index.ts';
import type { Vault } from '../../vault/index.ts';
import { acquirerReversalReason } from '../reversals/acquirer-reversal-reason.ts';
import {
  authorizationContext,
  type StoredOperation,
  saleOutcome,
  type TransactionRecord,
} from '../transaction/transaction.ts';

const acquirerKinds = {
  Capture: 'Capture',
  Refund: 'Refund',
  Cancel: 'Reversal',
  Reversal: 'Reversal',
} as const;

export type SendPorts = {
  vault: Pick<Vault, 'reveal'>;
  acquiring: Pick<Acquiring, 'send'>;
  failPoints: FailPoints;
};

/** @param isRepeat an earlier copy of the message may have been sent */
export async function sendOperation(
  ports: SendPorts,
  transaction: TransactionRecord,
  operation: StoredOperation,
  isRepeat: boolean,
  onPossiblySent?: () => void,
): Promise<AcquirerOutcome> {
  const { row } = transaction;
  const { details } = operation;
  const context = authorizationContext(transaction);
  const card = await ports.vault.reveal(row.organizationId, context.card.token, {
    purpose: operation.kind,
    actor: details.actor ?? `merchant ${row.merchantId}`,
    subjectId: row.transactionId,
  });
  if (card === undefined) throw new Error('the vault has no card for the token of the sale');
  const request: AcquirerRequest = {
    kind: acquirerKinds[operation.kind],
    repeat: isRepeat,
    organizationId: row.organizationId,
    transactionId: row.transactionId,
    linkId: context.linkId,
    reference: details.reference,
    merchantNumber: context.acquirerMerchantId,
    mcc: context.mcc,
    amount: operation.amount,
    currency: row.currency,
    entryMode: context.entryMode,
    card,
    original: context.reference,
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
  return ports.acquiring.send(request, () => {
    onPossiblySent?.();
    ports.failPoints.hit('after-send');
  });
}
