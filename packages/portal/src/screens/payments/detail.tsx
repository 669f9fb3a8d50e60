/** One payment: what it came to, what may be done with it now, and all that has happened to it. */
import { useParam } from '../../app/url-params.ts';
import { Problem } from '../../components/layout/error-message.tsx';
import { Loading, Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { CardPayment } from './card-payment.tsx';
import { usePayment } from './payment-queries.ts';
import { QrPayment } from './qr-payment.tsx';

export default function PaymentDetail() {
  const t = useTranslate('payments');
  const transactionId = useParam('transactionId');
  const payment = usePayment(transactionId);
  const hasList = useCan('rep.read');
  const backLink = hasList
    ? { to: '/payments', label: t('title') }
    : { to: '/qr-payments', label: t('qrTitle') };
  const { data, error, refetch } = payment;
  if (data === undefined) {
    return (
      <Page title={t('payment')} backLink={backLink}>
        {error === null ? (
          <Loading lines={10} />
        ) : (
          <Problem fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return data.kind === 'Card' ? (
    <CardPayment payment={data.card} backLink={backLink} fault={error} />
  ) : (
    <QrPayment payment={data.qr} backLink={backLink} fault={error} />
  );
}
