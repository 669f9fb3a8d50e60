/** Loads a payment from the reporting API or the payment API, by the permissions of the user. */
import type {
  AllowedOperations,
  QrTransactionWithEvents,
  ReportedPaymentDetail,
  TransactionWithEvents,
} from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { isProblem } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { useHasPermission } from '../../session/use-session.ts';

type PaymentDetail =
  | { readonly kind: 'Card'; readonly card: TransactionWithEvents }
  | { readonly kind: 'Qr'; readonly qr: QrTransactionWithEvents };

const openStates = ['Received', 'Reversing', 'Created', 'Pending', 'Scanned', 'Authorized'];
const lookAgainMs = 4_000;

function detailOf(reported: ReportedPaymentDetail): PaymentDetail {
  if (reported.card !== undefined) return { kind: 'Card', card: reported.card };
  if (reported.qr !== undefined) return { kind: 'Qr', qr: reported.qr };
  throw new Error('a payment of neither kind');
}

async function fromPayments(id: string): Promise<PaymentDetail> {
  const name = encodeURIComponent(id);
  try {
    const card = await api.get<TransactionWithEvents>(`/payment/v1/transactions/${name}`);
    return { kind: 'Card', card };
  } catch (fault) {
    if (!isProblem(fault) || fault.problem.status !== 404) throw fault;
    const path = `/qrcode-payment/v1/transactions/${name}`;
    return { kind: 'Qr', qr: await api.get<QrTransactionWithEvents>(path) };
  }
}

/** Whether the payment can still change. */
function isMoving(detail: PaymentDetail | undefined): boolean {
  if (detail === undefined) return false;
  if (detail.kind === 'Qr') {
    const { status, operations } = detail.qr;
    return openStates.includes(status) || operations.some((each) => each.status === 'Pending');
  }
  const { state, operations } = detail.card;
  const isOpen = state === 'Received' || state === 'Reversing';
  return isOpen || operations.some((each) => each.status === 'Pending');
}

export function usePayment(id: string) {
  const mayReport = useHasPermission('rep.read');
  return useQuery({
    queryKey: ['payment', id],
    queryFn: async () =>
      mayReport
        ? detailOf(
            await api.get<ReportedPaymentDetail>(
              `/reporting/v1/transactions/${encodeURIComponent(id)}`,
            ),
          )
        : fromPayments(id),
    refetchInterval: ({ state }) => (isMoving(state.data) ? lookAgainMs : false),
  });
}

/** The allowed operations; not requested for users without permission. */
export function useAllowedOperations(id: string, isCard: boolean) {
  const mayAct = useHasPermission('pay.capture', 'pay.refund', 'pay.cancel', 'pay.refundbyweb');
  const mayAsk = useHasPermission('pay.read', 'pay.refundbyweb');
  return useQuery({
    queryKey: ['payment', id, 'allowed'],
    queryFn: () => api.get<AllowedOperations>(`/payment/v1/transactions/${id}/allowedoperations`),
    enabled: isCard && mayAct && mayAsk,
  });
}
