// Stores the reservation together with the approval code use and the web operation id.
import { CompiledQuery, type Kysely } from 'kysely';
import { ApprovalCodeUsed, type ApprovedCode } from '../approvals/check-approval-code.ts';
import type { PaymentsDeps } from '../deps.ts';
import { DuplicateOperationId } from '../repository/transaction-repository.ts';
import type { TransactionChange } from '../transaction/transaction.ts';

/**
 * A refund and a cancel have identifiers of their own, and by web one stands for either: whoever comes second waits
 * for the row of the first, in whichever process and of whichever transaction.
 */
const claimWebOperationIdText = `INSERT INTO operations_by_web
    (organization_id, client_operation_id, merchant_id, transaction_id, number)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING number`;

async function claimWebOperationId(
  trx: Kysely<unknown>,
  { after, operation }: TransactionChange,
): Promise<void> {
  const { organizationId, merchantId, transactionId } = after;
  const { rows } = await trx.executeQuery(
    CompiledQuery.raw(claimWebOperationIdText, [
      organizationId,
      operation?.clientOperationId,
      merchantId,
      transactionId,
      operation?.number,
    ]),
  );
  if (rows.length === 0) throw new DuplicateOperationId();
}

const hasWebOperationId = ({ operation }: TransactionChange): boolean =>
  operation?.details.actor !== undefined && operation.clientOperationId !== undefined;

/**
 * False where somebody was faster, with the transaction or with the approval code.
 *
 * @throws OperationIdTaken where another operation has the identifier
 */
export async function insertReservation(
  { transactions: store, approvals }: Pick<PaymentsDeps, 'transactions' | 'approvals'>,
  change: TransactionChange,
  approvedCode: ApprovedCode | undefined,
): Promise<boolean> {
  const isWebOperation = hasWebOperationId(change);
  if (approvedCode === undefined && !isWebOperation) return store.update(change);
  try {
    return await store.updateWith(change, async (trx) => {
      if (isWebOperation) await claimWebOperationId(trx, change);
      if (approvedCode !== undefined) await approvals.consume(trx, approvedCode);
    });
  } catch (error) {
    if (error instanceof ApprovalCodeUsed) return false;
    throw error;
  }
}
