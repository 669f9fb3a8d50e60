/** The latest payments. */
import type { ReportedPayment } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { PaymentMethod } from '../payments/payment-method.tsx';

const paymentLimit = 8;

export function LatestPayments() {
  const t = useTranslate('home');
  const words = useTranslate('payments');
  const { data, error, refetch } = useQuery({
    queryKey: ['recent'],
    queryFn: () =>
      api.get<{ items: ReportedPayment[] }>('/reporting/v1/transactions', {
        query: { limit: paymentLimit },
      }),
  });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.items.length === 0) {
    return (
      <EmptyState icon="payments" title={words('empty.title')}>
        {words('empty.text')}
      </EmptyState>
    );
  }
  return (
    <>
      <ul className="sy-recent">
        {data.items.map((payment) => (
          <li key={payment.transactionId}>
            <Link to={`/payments/${payment.transactionId}`}>
              <PaymentMethod payment={payment} />
            </Link>
            <span className="sy-recent-time">
              <DateTime at={payment.createdAt} />
            </span>
            <StateBadge state={payment.state}>{words(`states.${payment.state}`)}</StateBadge>
            <strong>
              <Money amount={payment.amount} currency={payment.currency} />
            </strong>
          </li>
        ))}
      </ul>
      <p className="sy-recent-all">
        <Link to="/payments">{t('all')}</Link>
      </p>
    </>
  );
}
