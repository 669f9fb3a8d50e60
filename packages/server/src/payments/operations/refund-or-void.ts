// Refund or cancel by web: what can still be taken back decides which of the two it is.
import type { AllowedOperations } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { judge, openAmount, type Terms, type Verb } from '../transaction/state-machine.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';
import { allowedOperations, refuseReuse } from '../validation/validate-sale-request.ts';
import { OtherKindTaken } from './operation-idempotency.ts';
import { type OperationAnswer, operate, termsFor } from './run-operation.ts';

type VerbByWeb = Extract<Verb, 'Refund' | 'Cancel'>;

/**
 * Refund where something captured is left to refund, else cancel. Where neither can be any more the reason
 * is that of the refund: whoever hears that it is captured would try to refund what is refunded already.
 */
function verbByWeb(loaded: LoadedTransaction, terms: Terms): VerbByWeb {
  const { position } = loaded.row;
  const refund = judge(position, 'Refund', terms);
  if (refund.allowed && refund.maxAmount > 0) return 'Refund';
  return position.captured > 0 && openAmount(position) === 0 ? 'Refund' : 'Cancel';
}

/** What may be done now, of every operation, and first of refund or cancel by web. */
export async function allowed(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
): Promise<AllowedOperations> {
  const terms = await termsFor(deps, loaded);
  const operations = allowedOperations(loaded.row, terms);
  const verb = verbByWeb(loaded, terms);
  const chosen = operations.find(({ operation }) => operation === verb);
  if (chosen === undefined) throw new Error('an operation is missing from the table');
  const { operation: _operation, ...verdict } = chosen;
  return { ...verdict, operation: chosen.allowed ? verb : null, operations };
}

/** @throws Refusal of the state, the amount or the configuration */
export async function refundByWeb(
  deps: PaymentsDeps,
  caller: Caller,
  loaded: LoadedTransaction,
  request: { amount?: number | undefined; clientOperationId?: string | undefined },
): Promise<OperationAnswer> {
  const attempt = async (standing: LoadedTransaction): Promise<OperationAnswer> => {
    const verb = await chosenVerb(deps, standing, request.clientOperationId);
    return operate(deps, standing, verb, {
      ...request,
      actor: caller.subject,
      ...(verb === 'Cancel' ? { cancelReason: 'Functional' as const } : {}),
    });
  };
  try {
    return await attempt(loaded);
  } catch (error) {
    if (!(error instanceof OtherKindTaken)) throw error;
    // The same request came twice at once, and a capture between them: what the first did stands.
    const { organizationId, transactionId } = loaded.row;
    return attempt((await deps.store.findById(organizationId, transactionId)) ?? loaded);
  }
}

const verbsByWeb: ReadonlySet<string> = new Set<VerbByWeb>(['Refund', 'Cancel']);

// A replay must choose what the first call chose, whatever is left to refund by now. A capture may have
// the same identifier: each kind of operation has its own.
async function chosenVerb(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  clientOperationId: string | undefined,
): Promise<VerbByWeb> {
  const first = loaded.operations.find(
    (each) =>
      clientOperationId !== undefined &&
      each.clientOperationId === clientOperationId &&
      verbsByWeb.has(each.kind),
  );
  if (first?.kind === 'Refund' || first?.kind === 'Cancel') return first.kind;
  const verb = verbByWeb(loaded, await termsFor(deps, loaded));
  return clientOperationId === undefined
    ? verb
    : unlessOther(deps, loaded, verb, clientOperationId);
}

/**
 * Both are asked for at one address, so one identifier cannot stand for a refund of one transaction and a
 * cancel of another.
 */
async function unlessOther(
  deps: PaymentsDeps,
  { row }: LoadedTransaction,
  verb: VerbByWeb,
  clientOperationId: string,
): Promise<VerbByWeb> {
  const { organizationId, merchantId, transactionId } = row;
  const other = verb === 'Refund' ? 'Cancel' : 'Refund';
  const key = { organizationId, merchantId, kind: other, clientOperationId };
  const known = await deps.store.findOperation(key);
  if (known === undefined) return verb;
  refuseReuse({ transactionId: known.transactionId }, { transactionId }, 'clientOperationId');
  return other;
}
