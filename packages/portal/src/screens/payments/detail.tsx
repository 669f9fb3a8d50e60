/** The page of a payment: details, actions and timeline. */
import { usePathParam } from '../../app/url-params.ts';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { CardPayment } from './card-payment.tsx';
import { usePayment } from './payment-queries.ts';
import { QrPayment } from './qr-payment.tsx';

export default function PaymentDetail() {
  const t = useTranslate('payments');
  const transactionId = usePathParam('transactionId');
  const query = usePayment(transactionId);
  const hasList = useHasPermission('rep.read');
  const backLink = hasList
    ? { to: '/payments', label: t('title') }
    : { to: '/qr-payments', label: t('qrTitle') };
  const { data, error } = query;
  if (data === undefined)
    return <PendingPage query={query} title={t('payment')} backLink={backLink} />;
  return data.kind === 'Card' ? (
    <CardPayment payment={data.card} backLink={backLink} fault={error} />
  ) : (
    <QrPayment payment={data.qr} backLink={backLink} fault={error} />
  );
}
