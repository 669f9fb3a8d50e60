/** One payment: what it came to, what may be done with it now, and all that has happened to it. */
import { useParam } from '../../app/use-param.ts';
import { Loading, Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useCan } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { CardPayment } from './card-payment.tsx';
import { QrPayment } from './qr-payment.tsx';
import { usePayment } from './read-payment.ts';

export default function PaymentDetail() {
  const t = useWords('payments');
  const transactionId = useParam('transactionId');
  const payment = usePayment(transactionId);
  const hasList = useCan('rep.read');
  const back = hasList
    ? { to: '/payments', label: t('title') }
    : { to: '/qr-payments', label: t('qrTitle') };
  const { data, error, refetch } = payment;
  if (data === undefined) {
    return (
      <Page title={t('payment')} back={back}>
        {error === null ? (
          <Loading lines={10} />
        ) : (
          <Problem fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return data.kind === 'Card' ? (
    <CardPayment payment={data.card} back={back} fault={error} />
  ) : (
    <QrPayment payment={data.qr} back={back} fault={error} />
  );
}
