/** The page of a payment: details, actions and timeline. */
import { usePathParam } from '../../app/url-params.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Page } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { CardPayment } from './card-payment.tsx';
import { usePayment } from './payment-queries.ts';
import { QrPayment } from './qr-payment.tsx';

export default function PaymentDetail() {
  const t = useTranslate('payments');
  const transactionId = usePathParam('transactionId');
  const payment = usePayment(transactionId);
  const hasList = useHasPermission('rep.read');
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
          <ErrorMessage fault={error} onRetry={() => void refetch()} />
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
