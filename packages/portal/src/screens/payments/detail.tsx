/** The page of a payment: details, actions and timeline. */
import {
  defined,
  type QrTransactionWithEvents,
  type TransactionWithEvents,
} from '@switchyard/contract';
import { usePathParam } from '../../app/url-params.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { copyItem, nameItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { AmountBar } from './amount-bar.tsx';
import { CardActions } from './card-actions.tsx';
import { OperationList } from './operation-list.tsx';
import { PaymentMethod } from './payment-method.tsx';
import { usePayment } from './payment-queries.ts';
import { QrActions } from './qr-actions.tsx';
import { Receipt } from './receipt.tsx';
import { Timeline } from './timeline.tsx';

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

function CardPayment({
  payment,
  backLink,
  fault,
}: {
  readonly payment: TransactionWithEvents;
  readonly backLink: { readonly to: string; readonly label: string };
  readonly fault: unknown;
}) {
  const t = useTranslate('payments');
  const formats = useFormats();
  const { amount, currency, state, clientTransactionId, events, operations, receipt } = payment;
  return (
    <Page
      title={formats.money(amount, currency)}
      aside={<StateBadge state={state}>{t(`states.${state}`)}</StateBadge>}
      lead={clientTransactionId}
      backLink={backLink}
    >
      {fault !== null && <ErrorMessage fault={fault} />}
      <div className="sy-payment">
        <div className="sy-payment-main">
          <Panel title={t('amounts.title')}>
            <AmountBar amounts={payment} currency={currency} />
          </Panel>
          <CardActions payment={payment} />
          {operations.length > 0 && (
            <Panel title={t('operations.title')} flush>
              <OperationList operations={operations} />
            </Panel>
          )}
          <Panel title={t('timeline.title')}>
            <Timeline events={events} currency={currency} />
          </Panel>
        </div>
        <div className="sy-payment-side">
          <Panel title={t('facts.title')}>
            <CardFacts payment={payment} />
          </Panel>
          {receipt !== undefined && (
            <Panel title={t('receipt.title')}>
              <Receipt receipt={receipt} />
            </Panel>
          )}
        </div>
      </div>
    </Page>
  );
}

function CardFacts({ payment }: { readonly payment: TransactionWithEvents }) {
  const t = useTranslate('payments');
  const { card, response, addressVerification: avs, order, offlineData, confirmBy } = payment;
  const paidWith = {
    kind: 'Card',
    ...defined({ scheme: card?.scheme, maskedNumber: card?.maskedNumber }),
  } as const;
  return (
    <DescriptionList
      items={[
        timeItem(t('created'), payment.createdAt),
        [t('paidWith'), <PaymentMethod key="with" payment={paidWith} />],
        [t('facts.entryMode'), t(`entryModes.${payment.entryMode}`)],
        [
          t('facts.response'),
          response && [response.reason ?? response.category, response.code].join(' · '),
        ],
        [t('facts.authorizationCode'), payment.authorizationCode],
        [t('facts.captureMode'), t(`captureModes.${payment.captureMode}`)],
        nameItem(t('merchant'), 'merchants', payment.merchantId),
        nameItem(t('store'), 'stores', payment.storeId),
        nameItem(t('device'), 'logical-devices', payment.deviceId),
        [t('facts.order'), order?.orderId],
        [t('facts.avs'), avs && `${avs.street} · ${avs.postal}`],
        timeItem(t('facts.offline'), offlineData?.authorizedAt),
        timeItem(t('facts.confirmBy'), confirmBy, true),
        [t('facts.rrn'), payment.retrievalReferenceNumber],
        [t('facts.stan'), payment.systemTraceAuditNumber],
        copyItem(t('facts.id'), payment.transactionId),
        copyItem(t('reference'), payment.clientTransactionId),
        copyItem(t('facts.token'), card?.token),
      ]}
    />
  );
}

function QrPayment({
  payment,
  backLink,
  fault,
}: {
  readonly payment: QrTransactionWithEvents;
  readonly backLink: { readonly to: string; readonly label: string };
  readonly fault: unknown;
}) {
  const t = useTranslate('payments');
  const formats = useFormats();
  const { paymentAmount, status, clientTransactionId, events, operations, hold } = payment;
  const { amount, currency } = paymentAmount;
  const amounts = {
    amount,
    authorizedAmount: status === 'Authorized' ? amount : payment.paidAmount,
    capturedAmount: payment.paidAmount,
    cancelledAmount: 0,
    refundedAmount: payment.refundedAmount,
  };
  return (
    <Page
      title={formats.money(amount, currency)}
      aside={
        <>
          <StateBadge state={status}>{t(`states.${status}`)}</StateBadge>
          {hold !== undefined && <StateBadge state="Held">{t(`holds.${hold.reason}`)}</StateBadge>}
        </>
      }
      lead={clientTransactionId}
      backLink={backLink}
    >
      {fault !== null && <ErrorMessage fault={fault} />}
      <div className="sy-payment">
        <div className="sy-payment-main">
          <Panel title={t('amounts.title')}>
            <AmountBar amounts={amounts} currency={currency} />
          </Panel>
          <QrActions payment={payment} />
          {operations.length > 0 && (
            <Panel title={t('operations.title')} flush>
              <OperationList operations={operations} />
            </Panel>
          )}
          <Panel title={t('timeline.title')}>
            <Timeline events={events} currency={currency} />
          </Panel>
        </div>
        <div className="sy-payment-side">
          <Panel title={t('facts.title')}>
            <QrFacts payment={payment} />
          </Panel>
        </div>
      </div>
    </Page>
  );
}

function QrFacts({ payment }: { readonly payment: QrTransactionWithEvents }) {
  const t = useTranslate('payments');
  const { transactionId, clientTransactionId, failure, payer, providerTransactionId } = payment;
  return (
    <DescriptionList
      items={[
        timeItem(t('created'), payment.createdAt),
        [
          t('paidWith'),
          <PaymentMethod key="with" payment={{ kind: 'Qr', scheme: payment.paymentType }} />,
        ],
        [t('facts.scenario'), t(`scenarios.${payment.effectiveScenario}`)],
        timeItem(t('facts.expires'), payment.expiresAt, true),
        [t('facts.failure'), failure && Object.values(failure).join(' · ')],
        [t('facts.payer'), payer && Object.values(payer).join(' · ')],
        nameItem(t('merchant'), 'merchants', payment.merchantId),
        nameItem(t('store'), 'stores', payment.storeId),
        nameItem(t('device'), 'logical-devices', payment.deviceId),
        [t('facts.order'), payment.order?.orderId],
        [t('facts.provider'), providerTransactionId],
        copyItem(t('facts.id'), transactionId),
        copyItem(t('reference'), clientTransactionId),
      ]}
    />
  );
}
