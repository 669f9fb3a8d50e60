// Makes the reservation of an operation durable, with what it must not stand without: its approval, its identifier.
import { CompiledQuery, type Kysely } from 'kysely';
import { type Approved, CodeTaken } from '../approvals/check-approval-code.ts';
import type { PaymentsDeps } from '../deps.ts';
import { OperationIdTaken } from '../repository/transaction-repository.ts';
import type { Change } from '../transaction/transaction.ts';

/**
 * A refund and a cancel have identifiers of their own, and by web one stands for either: whoever comes second waits
 * for the row of the first, in whichever process and of whichever transaction.
 */
const takeText = `INSERT INTO operations_by_web
    (organization_id, client_operation_id, merchant_id, transaction_id, number)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING number`;

async function takeByWeb(trx: Kysely<unknown>, { after, operation }: Change): Promise<void> {
  const { organizationId, merchantId, transactionId } = after;
  const { rows } = await trx.executeQuery(
    CompiledQuery.raw(takeText, [
      organizationId,
      operation?.clientOperationId,
      merchantId,
      transactionId,
      operation?.number,
    ]),
  );
  if (rows.length === 0) throw new OperationIdTaken();
}

const isNamedByWeb = ({ operation }: Change): boolean =>
  operation?.details.actor !== undefined && operation.clientOperationId !== undefined;

/**
 * False where somebody was faster, with the transaction or with the approval code.
 *
 * @throws OperationIdTaken where another operation has the identifier
 */
export async function commitFirst(
  { store, approvals }: Pick<PaymentsDeps, 'store' | 'approvals'>,
  change: Change,
  approved: Approved | undefined,
): Promise<boolean> {
  const isByWeb = isNamedByWeb(change);
  if (approved === undefined && !isByWeb) return store.commit(change);
  try {
    return await store.commitBeside(change, async (trx) => {
      if (isByWeb) await takeByWeb(trx, change);
      if (approved !== undefined) await approvals.use(trx, approved);
    });
  } catch (error) {
    if (error instanceof CodeTaken) return false;
    throw error;
  }
}
